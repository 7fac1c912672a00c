"""``verify-resume``: a run that is interrupted, held against one that is not."""
