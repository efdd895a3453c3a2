#!/usr/bin/env bash
# The same where nobody may write to site-packages: patched while it is imported, in each rank.
set -euo pipefail
exec torchrun --nproc-per-node "${GPUS:-8}" -m patchkit.live --megatron installed -- train.py "$@"
