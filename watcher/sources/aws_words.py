"""The names of the AWS sources."""

IMDS = "aws_imds"
"""Name of the source that reads the metadata service."""

QUEUE = "aws_sqs"
"""Name of the source that reads a queue."""
