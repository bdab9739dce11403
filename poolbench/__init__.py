"""poolbench: what the reuse attributes of a CUDA memory pool cost and save."""

__version__ = "0.1.0"
