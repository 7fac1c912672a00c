"""`make bench`: every bench at its small size, and one page of what they found."""
