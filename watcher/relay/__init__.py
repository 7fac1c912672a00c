"""The only reader of a cluster's queue: hands each notice over to whoever tells the node."""
