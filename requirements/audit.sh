#!/bin/sh
# Asks OSV whether a pinned package has a known vulnerability; CI runs it.
set -eu

usage() {
    cat <<'EOF'
usage: audit.sh [FILE]

  FILE  the pins (requirements/dev.txt, which holds all there are)

OSV_URL names a mirror of the service, PIP_AUDIT the tool (.venv/bin/pip-audit).

exit status: 0 nothing is known, or no service answers (it says which); 1 something is known; 2 the
audit itself failed
EOF
}

case ${1-} in -h|--help) usage; exit 0 ;; esac
root=$(cd "$(dirname "$0")/.." && pwd)
answer=$(mktemp) said=$(mktemp)
trap 'rm -f "$answer" "$said"' EXIT

# OSV and not the package index: pip-audit counts a package that the index does not know as skipped,
# and finds nothing wrong with a mirror that answers 404 to everything.
status=0
"${PIP_AUDIT:-$root/.venv/bin/pip-audit}" --requirement "${1:-$root/requirements/dev.txt}" \
    --no-deps --disable-pip --vulnerability-service osv \
    --osv-url "${OSV_URL:-https://api.osv.dev/v1/query}" \
    --progress-spinner off --format columns --output "$answer" >"$said" 2>&1 || status=$?

if [ "$status" = 0 ]; then
    echo "audit: OSV knows of no vulnerability in the pinned packages"
elif [ -s "$answer" ]; then
    cat "$answer"
    exit 1
elif grep -qE 'requests\.exceptions\.|ServiceError|Could not connect' "$said"; then
    echo "audit: SKIPPED, no advisory service answers: $(tail -n 1 "$said" | cut -c 1-200)"
else
    cat "$said" >&2
    exit 2
fi
