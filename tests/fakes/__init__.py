"""Servers of others, as small models in memory: what a test can't have for real."""
