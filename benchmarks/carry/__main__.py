"""``python -m benchmarks.carry``."""

import sys

from benchmarks.carry.run import main

sys.exit(main())
