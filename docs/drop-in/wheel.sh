#!/bin/sh
# A patched wheel for an index of your own: what installs it needs no patchkit, and its version says that it is patched.
set -eu
patchkit apply --megatron v0.16.1 --wheel wheels
patchkit verify --in wheels/megatron_core-0.16.1+patchkit*.whl
