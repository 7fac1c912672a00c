"""Compute Engine's metadata server, and a VM that it tells of."""
