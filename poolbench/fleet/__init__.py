"""Sweeps on more than one device: what can be taken apart, where the parts run, and how they are
joined again."""
