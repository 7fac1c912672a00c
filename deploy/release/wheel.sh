#!/bin/sh
# Builds the wheel of a commit: the same bytes from every checkout of it, on any day. Needs git, and
# a Python with setuptools (requirements/locked/build.txt says which); asks no network.
set -eu

usage() {
    cat <<'EOF'
usage: wheel.sh [DIRECTORY]

  DIRECTORY  where the wheel goes (dist)

PYTHON names the Python (.venv/bin/python), COMMIT the commit (HEAD). What is not committed is not in it.
EOF
}

case ${1-} in -h|--help) usage; exit 0 ;; esac
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-$root/.venv/bin/python} commit=${COMMIT:-HEAD}
mkdir -p "${1:-$root/dist}"
target=$(cd "${1:-$root/dist}" && pwd)

# A wheel holds times, modes and an order of its files; these are what they depend on.
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct "$commit")
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8 TZ=UTC PYTHONHASHSEED=0
umask 022

source=$(mktemp -d)
trap 'rm -rf "$source"' EXIT
git -C "$root" archive "$commit" | tar -x --no-same-permissions -C "$source"
"$python" -m pip wheel --quiet --no-deps --no-build-isolation --no-index \
    --wheel-dir "$target" "$source"
cd "$target" && sha256sum reprieve-*.whl
