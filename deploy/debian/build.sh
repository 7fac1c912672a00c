#!/bin/sh
# Builds the Debian package of this checkout, for the architecture of the machine that it is run on.
set -eu

usage() {
    cat <<'EOF'
usage: build.sh [DIRECTORY]

  DIRECTORY  where the package goes (dist)

Needs /usr/bin/python3.11, dpkg-deb, git and, for what requirements/locked names, a package index.
PYTHON names the Python with pip and setuptools that builds (.venv/bin/python), DEBFULLNAME and
DEBEMAIL who you are. The watcher is that of the last commit. lintian looks at it where that is
installed; LINTIAN=no leaves it out.
EOF
}

case ${1-} in -h|--help) usage; exit 0 ;; esac
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
builder=${PYTHON:-$root/.venv/bin/python} interpreter=/usr/bin/python3.11
mkdir -p "${1:-$root/dist}"
target=$(cd "${1:-$root/dist}" && pwd)
architecture=$(dpkg --print-architecture)
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/pyproject.toml")
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct)
export SOURCE_DATE_EPOCH
# pip runs what it has just installed: bytecode would come of it, of this machine's date and paths.
export PYTHONDONTWRITEBYTECODE=1
umask 022

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 0755 "$work"
tree=$work/reprieve_${version}_$architecture
prefix=$tree/opt/reprieve

# 1. The watcher and what it needs, in a virtual environment. No gcp: that is for a relay.
mkdir -p "$tree/opt" "$tree/DEBIAN"
"$interpreter" -m venv --without-pip "$prefix"
for part in base logind aws; do
    "$builder" -m pip --python "$prefix/bin/python" install --quiet --no-compile --no-deps \
        --only-binary :all: --require-hashes --requirement "$root/requirements/locked/$part.txt"
done
PYTHON=$builder "$root/deploy/release/wheel.sh" "$work/wheel" >/dev/null
"$builder" -m pip --python "$prefix/bin/python" install --quiet --no-compile --no-deps --no-index \
    "$work"/wheel/reprieve-*.whl
# It was made here and will lie in /opt/reprieve; where it came from is nobody's business there.
find "$prefix/bin" -type f ! -name 'reprieve-*' -delete
sed -i "1s|^#!.*|#!/opt/reprieve/bin/python|" "$prefix"/bin/reprieve-*
sed -i '/^command = /d' "$prefix/pyvenv.cfg"
rm -f "$prefix/lib64"
find "$prefix" -name direct_url.json -delete
find "$prefix" -name RECORD -exec sed -i '/direct_url\.json,/d; /^\.\.\/\.\.\/\.\.\/bin\//d' {} +

# 2. The files of deploy/systemd, where a package puts them.
put() { install -m "${3:-0644}" -D "$1" "$tree/$2"; }
units=lib/systemd/system examples=usr/share/doc/reprieve/examples
for unit in reprieve-watcher.service reprieve-trainer@.service \
    run-reprieve-trainers.mount run-reprieve-requests.mount; do
    put "$root/deploy/systemd/$unit" "$units/$unit"
done
put "$root/deploy/systemd/system.slice.d/reprieve.conf" "$units/system.slice.d/reprieve.conf"
put "$root/deploy/systemd/sysusers.conf" usr/lib/sysusers.d/reprieve.conf
put "$root/deploy/systemd/tmpfiles.conf" usr/lib/tmpfiles.d/reprieve.conf
put "$root/deploy/systemd/watcher.toml" etc/reprieve/watcher.toml
put "$root/deploy/systemd/trainer.env" "$examples/trainer.env"
put "$root/deploy/systemd/logind.conf.d/reprieve.conf" "$examples/logind.conf"
put "$root/deploy/systemd/reprieve-watcher.service.d/root.conf" "$examples/root.conf"
put "$here/copyright" usr/share/doc/reprieve/copyright
put "$here/lintian-overrides" usr/share/lintian/overrides/reprieve
mkdir -p "$tree/usr/bin"
ln -s /opt/reprieve/bin/reprieve-watcher "$tree/usr/bin/reprieve-watcher"
author="${DEBFULLNAME:-Reprieve maintainers} <${DEBEMAIL:-maintainers@reprieve.invalid}>"
{
    printf 'reprieve (%s) unstable; urgency=medium\n\n' "$version"
    printf '  * What is new is in CHANGELOG.md, in the sources.\n\n'
    printf ' -- %s  %s\n' "$author" "$(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")"
} | gzip -9n >"$tree/usr/share/doc/reprieve/changelog.gz"

# 3. What dpkg has to know.
for script in preinst postinst prerm postrm; do
    put "$here/$script" "DEBIAN/$script" 0755
done
echo /etc/reprieve/watcher.toml >"$tree/DEBIAN/conffiles"
size=$(du -k -s --apparent-size --exclude=DEBIAN "$tree" | cut -f 1)
sed -e "s|@VERSION@|$version|; s|@ARCHITECTURE@|$architecture|" \
    -e "s|@SIZE@|$size|; s|@MAINTAINER@|$author|" "$here/control.in" >"$tree/DEBIAN/control"
(cd "$tree" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | LC_ALL=C sort -z |
    xargs -0 md5sum >DEBIAN/md5sums)

dpkg-deb --root-owner-group -Zxz --build "$tree" "$target" >/dev/null
package=$target/reprieve_${version}_$architecture.deb
if [ "${LINTIAN-}" = no ]; then
    :
elif command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error,warning "$package"
else
    echo "build.sh: lintian is not installed: nobody has looked at it" >&2
fi
cd "$target" && sha256sum "$(basename "$package")"
