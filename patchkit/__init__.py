"""patchkit: carry, apply and prove patches against NVIDIA Megatron-LM."""

__version__ = "0.1.0"

__all__ = ["__version__"]
