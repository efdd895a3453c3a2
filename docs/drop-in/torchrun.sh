#!/usr/bin/env bash
# No rank starts on a Megatron-LM that is not patched, and none where torch_memory_saver would end it.
set -euo pipefail
patchkit verify --installed
exec patchkit run -- torchrun --nproc-per-node "${GPUS:-8}" train.py "$@"
