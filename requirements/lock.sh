#!/bin/sh
# Writes requirements/locked/ anew from the pins in dev.txt and the names in pyproject.toml. Run it
# (make lock) after a change of either; it asks the package index for the hashes.
set -eu
cd "$(dirname "$0")/.."
uv=${UV:-.venv/bin/uv}

# For every platform and every Python from 3.11 on, not only for the one that it is run on.
compile() {
    "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
        --constraint requirements/dev.txt --custom-compile-command "make lock" "$@"
}

compile pyproject.toml --output-file requirements/locked/base.txt
for extra in logind aws gcp; do
    compile pyproject.toml --extra "$extra" --output-file "requirements/locked/$extra.txt"
done
echo setuptools | compile - --output-file requirements/locked/build.txt
# Not torch: which of its builds (CPU, CUDA, ROCm) is right, the machine knows, and they have one
# version and different bytes.
grep -v '^torch==' requirements/dev.txt |
    compile - --no-deps --output-file requirements/locked/dev.txt
