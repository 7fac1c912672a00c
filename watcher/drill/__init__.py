"""`reprieve-watcher drill -- COMMAND`: would this job survive the loss of its node?"""
