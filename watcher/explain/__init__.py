"""What an answer, a message, a Node or a program's line means to us, from the command line."""
