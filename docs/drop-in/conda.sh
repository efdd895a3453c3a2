#!/usr/bin/env bash
# A conda environment with a patched megatron-core. Ends at the first thing that fails.
set -euo pipefail
conda env create --file environment.yml
conda run --name trainer patchkit apply --megatron v0.16.1 --installed
conda run --name trainer patchkit verify --installed
