"""What this driver does: small scenarios whose answers a latch proves."""
