"""Settings that leave it to the daemon which cloud this is, and only AWS to be asked."""

from dataclasses import replace

from watcher.config import Config
from watcher.sources import aws
from watcher.sources.aws_config import AwsConfig

AWS = (aws.ROAD,)
"""The only cloud that is asked: the others' addresses are no test's business."""

_DEFAULTS = AwsConfig()


def config(url: str, settings: AwsConfig = _DEFAULTS) -> Config:
    """Return settings with AWS's metadata server at ``url``."""
    return Config(sections=(replace(settings, metadata_endpoint=url),))
