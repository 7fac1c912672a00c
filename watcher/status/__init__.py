"""`reprieve-watcher status`: what the daemon on this node knows, for people."""
