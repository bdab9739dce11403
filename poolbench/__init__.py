"""poolbench: what the reuse attributes of a CUDA memory pool cost and save."""

from poolbench.marks import record as record

__version__ = "0.1.0"
