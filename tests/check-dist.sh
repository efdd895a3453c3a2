#!/bin/sh
# Builds the sdist, and the wheel from it, into the folder $1, and looks at them as a package index would.
# Any further arguments go to `python -m build`.
set -eu
folder=$1
shift
python=${PYTHON:-python3}
"$python" -m build --outdir "$folder" "$@" "$(dirname "$0")/.."
"$python" -m twine check --strict "$folder"/*
"$python" -m check_wheel_contents --config "$(dirname "$0")/../pyproject.toml" "$folder"/*.whl
