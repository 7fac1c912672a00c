"""The launcher: torchrun in all but the exit code."""
