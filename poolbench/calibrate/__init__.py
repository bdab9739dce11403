"""A device profile, measured on the machine at hand."""
