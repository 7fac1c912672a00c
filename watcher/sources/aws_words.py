"""The names of the AWS sources, beside the words that every cloud's parsers share."""

from watcher.sources.words import bare, decoded, detail, notice_id, object_with, shown, word

__all__ = [
    "IMDS",
    "QUEUE",
    "bare",
    "decoded",
    "detail",
    "notice_id",
    "object_with",
    "shown",
    "word",
]

IMDS = "aws_imds"
"""Name of the source that reads the metadata service."""

QUEUE = "aws_sqs"
"""Name of the source that reads a queue."""
