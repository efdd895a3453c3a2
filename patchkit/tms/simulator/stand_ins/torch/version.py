"""What the stand-in is built for; the child process sets the major."""

import os

cuda = os.environ.get("PATCHKIT_SIMULATOR_CUDA", "12") + ".0"
hip = None
