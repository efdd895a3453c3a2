#!/bin/sh
# Sets up an environment of its own in .venv-test and runs every check: style, types, the series, the tests.
# Any arguments go to pytest (and then only pytest runs).
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
[ -x .venv-test/bin/python ] || "$python" -m venv .venv-test
bin=.venv-test/bin
$bin/python -m pip install --quiet --disable-pip-version-check -e '.[test,docs]' -r tests/requirements-behaviour.txt
# The page of check-upstream is tested in a real browser. Where Debian's packages can be installed, they are, and the
# browser's tests may not be skipped.
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export PATCHKIT_BROWSER=1
    command -v chromedriver >/dev/null ||
        { apt-get update -q && apt-get install -q -y --no-install-recommends chromium chromium-driver; } >/dev/null
fi
if [ $# -gt 0 ]; then
    exec $bin/python -m pytest "$@"
fi
$bin/ruff check .
$bin/ruff format --check .
$bin/mypy
$bin/patchkit lint
$bin/patchkit regenerate --check
# A file's tests stay in one process, so that what they prepare once (a wheel, a browser, trained models) is made once.
$bin/python -m pytest -n auto --dist loadfile
