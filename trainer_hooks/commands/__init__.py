"""What ``reprieve-trainer`` offers beside ``launch``."""
