#!/usr/bin/env bash
# Install the system packages of system.txt that are missing; with --missing only name them, with
# --if-possible name them where they can't be installed within a few minutes, and go on.
set -euo pipefail
list="$(dirname "$0")/system.txt"

missing() {
  grep -v '^#' "$list" | while read -r program package _; do
    PATH="$PATH:/usr/sbin:/sbin" command -v "$program" >/dev/null || echo "$package"
  done | sort -u
}

mapfile -t packages < <(missing)
if [ "${#packages[@]}" -eq 0 ]; then
  echo "system packages: all are there"
  exit 0
fi
name_them() { echo "system packages: tests that need $* will be skipped (make setup-full)"; }
if [ "${1:-}" = --missing ]; then
  name_them "${packages[@]}"
  exit 0
fi
if [ "${1:-}" = --if-possible ]; then
  export DEBIAN_FRONTEND=noninteractive
  patience=(-o Acquire::http::Timeout=15 -o Acquire::https::Timeout=15 -o Acquire::Retries=1)
  if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null &&
    timeout 60 apt-get "${patience[@]}" update -qq &&
    timeout 300 apt-get "${patience[@]}" install -qq --yes --no-install-recommends "${packages[@]}"
  then
    exit 0
  fi
  mapfile -t packages < <(missing)  # some may have come
  name_them "${packages[@]}"
  exit 0
fi
if ! command -v apt-get >/dev/null; then
  echo "this is no Debian, so install by hand what stands for: ${packages[*]}" >&2
  exit 1
fi
sudo=""
[ "$(id -u)" -eq 0 ] || sudo=sudo
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
$sudo apt-get install -qq --yes --no-install-recommends "${packages[@]}"
