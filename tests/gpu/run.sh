#!/bin/sh
# Runs the GPU tests on a machine without network: tests/gpu/run.sh WHEELS REPORTS [arguments of pytest]
#
# WHEELS is a folder with wheels, in any folders below it: what patchkit and pytest need, which is installed into a
# folder of its own, and the releases of megatron-core and torch_memory_saver, which the tests unpack by themselves.
# REPORTS gets gpu.json, and the answers of all processes. torch is taken from $PYTHON (default: python3).
set -eu
wheels=$(realpath "$1") reports=$(realpath "$2")
shift 2
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
work=$(mktemp -d)
find "$wheels" -type f -name '*.whl' ! -name 'megatron_core-*' ! -name 'torch_memory_saver-*' >"$work/needed"
xargs "$python" -m pip install --quiet --no-index --no-deps --no-compile --no-cache-dir --disable-pip-version-check \
    --target "$work/site" <"$work/needed"
# Plugins of the machine's own pytest would be loaded into this one.
export PYTHONPATH="$work/site" PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTHONUNBUFFERED=1
# An interrupt ends pytest, which still writes its report; what there is by then is kept.
trap : INT
code=0
"$python" -m pytest tests/gpu -q -p no:cacheprovider --tb=line --basetemp="$work/pytest" \
    --wheels "$wheels" --answers "$work/answers" --report "$reports/gpu.json" "$@" || code=$?
# What the processes left can be judged again with --replay, on any machine.
[ ! -d "$work/answers" ] || tar -czf "$reports/answers.tar.gz" -C "$work" --exclude=checkpoint --exclude=extensions answers
rm -rf "$work"
exit $code
