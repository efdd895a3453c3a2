#!/bin/sh
# With pip or uv into the current environment. `uv pip sync` and `pip install` put the unpatched files back: apply again.
set -eu
if command -v uv >/dev/null; then
    uv pip install --requirement requirements.txt
else
    python -m pip install --requirement requirements.txt
fi
patchkit apply --megatron v0.16.1 --installed
patchkit verify --installed
