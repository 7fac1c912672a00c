"""What a metadata answer or a queue message means to us, from the command line."""
