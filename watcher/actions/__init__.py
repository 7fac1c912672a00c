"""One file an action: what the daemon does about a notice, and how it is undone."""
