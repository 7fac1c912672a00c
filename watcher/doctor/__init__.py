"""`reprieve-watcher doctor`: why this node would not hear its notices, and what to do about it."""
