"""One file a source; this table is the whole of what ``--cloud`` can name."""

from collections.abc import Mapping

from watcher.sources.aws_imds import AwsImds

SOURCES: Mapping[str, type[AwsImds]] = {"aws": AwsImds}
"""By cloud. A new one is a file here, a line here, and a word in the settings."""
