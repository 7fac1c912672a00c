"""The node daemon: hears that a cloud takes the node back, and tells the trainers on it.

Nothing happens on import. ``reprieve-watcher run`` starts at :mod:`watcher.cli`; the way of one
notice is sources -> supervise -> responder -> actions, which :mod:`watcher.daemon` connects.
"""
