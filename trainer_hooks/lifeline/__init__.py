"""Lines between the ranks' machines, by which the loss of one is noticed that says nothing."""
