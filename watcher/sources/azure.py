"""All that Azure tells one node: the Scheduled Events of its metadata service."""

import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from watcher.actions.all_saved import AllSaved
from watcher.actions.trainer_look import TrainerLook
from watcher.httpclient import HttpClient
from watcher.sources.azure_config import READERS, AzureConfig
from watcher.sources.azure_doctor import checks
from watcher.sources.azure_document import PREEMPT_WINDOW_S
from watcher.sources.azure_events import AzureEvents
from watcher.sources.azure_session import HEADERS, LIMIT_S, VM_ID_PATH, refusal
from watcher.sources.road import Kinds, Opened, Road, Site
from watcher.sources.words import bare

DMI = {"chassis_asset_tag": r"7783-7084-3265-9085-8269-3286-77"}
"""What the firmware says on every machine of Azure's, and not on other hosts with Hyper-V. Source:
cloud-init, DataSourceAzure (read 2026-11-30)."""

BODY_LIMIT_BYTES = 256 * 1024
"""Largest document that is read: each event may name every machine of a scale set."""

_VM_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


def wanted(_config: AzureConfig) -> Kinds:
    """Return the one source that there is."""
    return {AzureEvents.name: AzureEvents.kinds}


@asynccontextmanager
async def opened(config: AzureConfig, site: Site) -> AsyncIterator[Opened]:
    """Open the source, until the end of the block."""
    async with AsyncExitStack() as stack:
        events, rest = [
            await stack.enter_async_context(
                HttpClient(config.metadata_endpoint, LIMIT_S, body_limit_bytes=BODY_LIMIT_BYTES)
            )
            for _ in range(2)
        ]
        source = AzureEvents(
            (events, rest),
            config,
            site.health(AzureEvents.name, AzureEvents.keys(config)),
            site,
        )
        approvals = source.approvals
        saved = AllSaved(TrainerLook(site.run_dir, site.boot_id), site.now)
        hearing = partial(
            saved.keep_telling, approvals.waits_for_trainers, approvals.trainers_saved
        )
        # In a dry run nothing is approved: that would let the event start.
        keepers = () if site.is_dry_run else (approvals.keep, hearing)
        yield Opened(sources=source.lanes, keepers=keepers)


async def proof(config: AzureConfig) -> str | None:
    """Say what proves that this is Azure: a machine's id, where only Azure has one.

    Raises:
        SourceError: There is no answer, or one that says nothing.
    """
    async with HttpClient(config.metadata_endpoint, LIMIT_S) as client:
        answer = await client.call("GET", VM_ID_PATH, HEADERS)
    if answer.status != 200:
        raise refusal(answer.status, f"GET {VM_ID_PATH}")
    text = bare(answer.body, 64).strip('"')
    return f"the machine's id {text}" if _VM_ID.fullmatch(text) else None


ROAD = Road(
    section="azure",
    cloud="azure",
    settings=AzureConfig,
    readers=READERS,
    wanted=wanted,
    opened=opened,
    proof=proof,
    dmi=DMI,
    checks=checks,
    window_s=PREEMPT_WINDOW_S,
)
