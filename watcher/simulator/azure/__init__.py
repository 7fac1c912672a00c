"""Azure's instance metadata service, with Scheduled Events."""
