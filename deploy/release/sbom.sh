#!/bin/sh
# Writes what an environment consists of as CycloneDX: versions, licences, what needs what.
set -eu

usage() {
    cat <<'EOF'
usage: sbom.sh FILE [PYTHON]

  FILE    where the bill of materials goes
  PYTHON  that of the environment; without it one is made from requirements/locked and this checkout,
          with all that the watcher can need (base, logind, aws, gcp)

CYCLONEDX names the tool (.venv/bin/cyclonedx-py).
EOF
}

case ${1:-none} in -h|--help) usage; exit 0 ;; none) usage >&2; exit 2 ;; esac
root=$(cd "$(dirname "$0")/../.." && pwd)
tool=${CYCLONEDX:-$root/.venv/bin/cyclonedx-py} python=${2-}
if [ -z "$python" ]; then
    made=$(mktemp -d)
    trap 'rm -rf "$made"' EXIT
    pip="$root/.venv/bin/python -m pip"
    "$root/.venv/bin/python" -m venv --without-pip "$made"
    python=$made/bin/python
    PYTHON=$root/.venv/bin/python "$root/deploy/release/wheel.sh" "$made/wheel"
    for part in base logind aws gcp; do
        $pip --python "$python" install --quiet --no-deps --only-binary :all: \
            --require-hashes --requirement "$root/requirements/locked/$part.txt"
    done
    $pip --python "$python" install --quiet --no-deps "$made"/wheel/reprieve-*.whl
fi
mkdir -p "$(dirname "$1")"
# No serial number and no time in it: the same environment gives the same bytes.
"$tool" environment --pyproject "$root/pyproject.toml" --output-reproducible \
    --output-format JSON --output-file "$1" "$python"
