"""What `reprieve-watcher doctor` asks AWS: the metadata service, then a queue if one is set."""

from collections.abc import Sequence
from datetime import UTC, datetime

from watcher.finding import Finding, unknown
from watcher.sources import aws_checks, aws_queue_checks
from watcher.sources.aws_config import AwsConfig
from watcher.sources.aws_evidence import examine
from watcher.sources.road import Patient


async def checks(config: AwsConfig, patient: Patient) -> Sequence[Finding]:
    """Return what every check of AWS's roads has found."""
    of_queue = [await check(config) for check in aws_queue_checks.CHECKS]
    if config.metadata == "off":
        off = unknown("metadata service", "switched off by aws.metadata, so not asked")
        return [off, *of_queue]
    evidence = await examine(config, patient.environment, lambda: datetime.now(UTC))
    return [*(check(evidence) for check in aws_checks.CHECKS), *of_queue]
