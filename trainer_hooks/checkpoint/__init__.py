"""Two-phase commit of checkpoints: it lives here and nowhere else."""
