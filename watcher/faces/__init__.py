"""What people, probes and Prometheus see of the daemon; nothing here is needed to act."""
