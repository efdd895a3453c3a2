"""What torch_memory_saver imports of torch, for the simulator: its Python files run, and nothing computes."""

from types import ModuleType

from . import cuda
from . import version as version


class Tensor:
    """A name for annotations."""


def get_device_module() -> ModuleType:
    """Return the module of the one kind of device."""
    return cuda
