"""The clouds' metadata services, played on loopback: what the sources are tested against."""
