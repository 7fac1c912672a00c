#!/bin/sh
# Installs the watcher on this machine, or upgrades it, and starts it. Run it again as often as you
# like: settings that are there stay as they are, and a notice in force stays in force.
set -eu

usage() {
    cat <<'EOF'
usage: install.sh [--wheel FILE] [--extras NAMES] [--python PROGRAM] [--no-start]

  --wheel FILE      a wheel of reprieve, with what pip finds that it needs; without it the checkout
                    around this script is installed, with what requirements/locked names by hash
  --extras NAMES    of aws, gcp, logind; with a comma in between
  --python PROGRAM  Python 3.11 or newer, outside of home directories (python3)
  --no-start        install, and start nothing: in an image that is being built, too

pip's own variables count: PIP_INDEX_URL for a mirror, PIP_NO_INDEX=1 with PIP_FIND_LINKS for none.

exit status: 0 it runs; 1 it does not, and what ran before runs again; 78 it can't be installed here
EOF
}

refuse() { echo "install.sh: $*" >&2; exit 78; }

here=$(cd "$(dirname "$0")" && pwd)
wheel='' extras='' python=python3 start=yes
while [ $# -gt 0 ]; do
    case $1 in
        --wheel|--extras|--python) [ $# -gt 1 ] || refuse "$1 needs a value" ;;
    esac
    case $1 in
        --wheel) wheel=$(realpath "$2"); shift ;;
        --extras) extras=$2; shift ;;
        --python) python=$2; shift ;;
        --no-start) start=no ;;
        -h|--help) usage; exit 0 ;;
        *) usage >&2; refuse "$1 is not known" ;;
    esac
    shift
done

[ "$(id -u)" = 0 ] || refuse "only root can install it"
command -v systemctl >/dev/null || refuse "this machine has no systemd"
# A container, or an image that is being built, has the files of systemd and no manager.
booted() { [ -d /run/systemd/system ]; }
booted || [ "$start" = no ] ||
    refuse "systemd does not run here, so nothing can be started: --no-start installs for the next boot"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    refuse "$python is no Python 3.11 or newer; name one with --python"
interpreter=$("$python" -c 'import os, sys; print(os.path.realpath(sys.executable))')
case $interpreter in
    /home/*|/root/*|/run/user/*)
        refuse "$interpreter is in a home directory, which the unit can't see; name another with --python" ;;
esac

prefix=/opt/reprieve releases=/opt/reprieve-releases settings=/etc/reprieve/watcher.toml
units=/etc/systemd/system
release=$releases/$(date +%Y%m%d-%H%M%S)-$$
before=$(readlink "$prefix" || true)

# 1. Beside what runs: whatever fails here changes nothing.
trap 'rm -rf "$release"' EXIT
mkdir -p "$releases"
"$python" -m venv "$release" || refuse "no virtual environment can be made (apt install python3-venv)"
pip() { "$release/bin/python" -m pip "$@"; }
if [ -z "$wheel" ]; then
    locked=$here/../../requirements/locked
    # Everything that a registry sends is held against its hash; the checkout is then built by what
    # came that way, and asks for nothing more.
    for part in build base $(echo "$extras" | tr , ' '); do
        [ -e "$locked/$part.txt" ] || refuse "there is no extra $part of the watcher's"
        pip install --quiet --require-hashes --no-deps --requirement "$locked/$part.txt"
    done
    pip install --quiet --no-deps --no-build-isolation "$here/../.."
else
    pip install --quiet "$wheel${extras:+[$extras]}"
fi
if [ -e "$settings" ]; then
    "$release/bin/reprieve-watcher" check-config --config "$settings" >/dev/null ||
        refuse "this version does not understand $settings; nothing was changed"
fi

# 2. Files; settings that are there are somebody's.
put() { install -m 0644 -D "$here/$1" "$2"; }
put reprieve-watcher.service "$units/reprieve-watcher.service"
put run-reprieve-trainers.mount "$units/run-reprieve-trainers.mount"
put run-reprieve-requests.mount "$units/run-reprieve-requests.mount"
put reprieve-trainer@.service "$units/reprieve-trainer@.service"
put system.slice.d/reprieve.conf "$units/system.slice.d/reprieve.conf"
put sysusers.conf /etc/sysusers.d/reprieve.conf
put tmpfiles.conf /etc/tmpfiles.d/reprieve.conf
[ -e "$settings" ] || put watcher.toml "$settings"
systemd-sysusers reprieve.conf
systemd-tmpfiles --create reprieve.conf
! booted || systemctl daemon-reload

# 3. The switch is one rename; a folder that was installed by hand is kept aside.
# systemd tries again for ever, so its own answer to `restart` does not say whether it runs.
starts() {
    systemctl restart reprieve-watcher || return 1
    for _ in $(seq 30); do
        state=$(systemctl show --value --property=SubState reprieve-watcher)
        restarts=$(systemctl show --value --property=NRestarts reprieve-watcher)
        [ "$state" != failed ] && [ "$restarts" = 0 ] || return 1
        [ "$state" != running ] || return 0
        sleep 1
    done
    return 1
}
switch() { ln -sfn "$1" "$prefix.new" && mv -T "$prefix.new" "$prefix"; }
if [ -d "$prefix" ] && [ ! -L "$prefix" ]; then
    before=$releases/by-hand-$$
    mv -T "$prefix" "$before"
fi
switch "$release"
trap - EXIT
if [ "$start" = no ]; then
    units="run-reprieve-trainers.mount run-reprieve-requests.mount reprieve-watcher"
    if booted; then
        echo "installed in $release; to start it: systemctl enable --now $units"
    else
        echo "installed in $release; to have it started at boot: systemctl enable $units"
    fi
    exit 0
fi
systemctl --quiet enable run-reprieve-trainers.mount run-reprieve-requests.mount reprieve-watcher
systemctl start run-reprieve-trainers.mount run-reprieve-requests.mount
if ! starts; then
    journalctl --unit reprieve-watcher --lines 5 --no-pager --output cat >&2
    if [ -n "$before" ]; then
        switch "$before"
        starts || true
        rm -rf "$release"
        echo "install.sh: it does not start; what ran before runs again" >&2
    fi
    exit 1
fi
for old in "$releases"/*; do
    [ "$old" = "$release" ] || [ "$old" = "$before" ] || rm -rf "$old"
done
"$prefix/bin/reprieve-watcher" --version
systemctl --no-pager --lines 0 status reprieve-watcher | sed -n 3p
