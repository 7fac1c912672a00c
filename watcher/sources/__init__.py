"""One file a source. What of them a node hears is put together in one file a cloud, as aws.py."""
