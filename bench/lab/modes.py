"""One daemon of a bench in each of its modes: on simulated EC2, with a Node, or with a queue."""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import aiohttp
import boto3
from prometheus_client.parser import text_string_to_metric_families

from lab.kube import TOKEN
from lab.moto import CREDENTIALS, REGION, moto_server
from lab.nodes import DAEMON, watcher_process, watcher_program
from lab.usage import cpu_s, rss_bytes
from tests.fakes.kube.server import fake_api_server
from tests.support.certificate import certified
from watcher.simulator.aws.identity import DEFAULT_INSTANCE_ID

HASTY = (str(Path(__file__).with_name("hasty.py")),)
"""The daemon that polls a thousand times as often."""

_LOOK_S = 0.1


class Daemon:
    """A daemon that runs, as a bench sees it.

    Args:
        pid: Its process.
        url: Its faces.
        session: Asks them.
    """

    def __init__(self, pid: int, url: str, session: aiohttp.ClientSession) -> None:
        self._pid = pid
        self._url = url
        self._session = session

    @property
    def mb(self) -> float:
        """Its memory now, in millions of bytes."""
        return rss_bytes(self._pid) / 1e6

    @property
    def core_s(self) -> float:
        """The time that it has had on cores so far."""
        return cpu_s(self._pid)

    async def is_ready(self) -> None:
        """Wait until everything has been heard once."""
        while True:
            async with self._session.get(f"{self._url}/readyz") as answer:
                if answer.status == 200:
                    return
            await asyncio.sleep(_LOOK_S)

    async def polls(self) -> int:
        """Return how often it has asked the metadata service for what it needs."""
        async with self._session.get(f"{self._url}/metrics") as answer:
            answer.raise_for_status()
            families = text_string_to_metric_families(await answer.text())
            samples = [sample for family in families for sample in family.samples]
        return int(
            sum(
                sample.value
                for sample in samples
                if sample.name == "reprieve_source_fetches_total"
                and sample.labels["source"] == "aws_imds"
            )
        )


@contextlib.asynccontextmanager
async def in_cluster(program: Sequence[str] = DAEMON) -> AsyncIterator[Daemon]:
    """Run a daemon that hears and protects its Node inside the block, over TLS."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "token").write_text(TOKEN)
        tls, authority = certified(directory)
        async with fake_api_server(tls=tls) as server:
            machine = f"aws:///us-east-1b/{DEFAULT_INSTANCE_ID}"
            server.cluster.add_node("node-0", provider_id=machine)
            variables = {
                "REPRIEVE_NODE": "node-0",
                "REPRIEVE_KUBERNETES_URL": server.url,
                "REPRIEVE_KUBERNETES_TOKEN_FILE": str(directory / "token"),
                "REPRIEVE_KUBERNETES_AUTHORITY_FILE": str(authority),
            }
            async with _running(program, variables) as daemon:
                yield daemon


@contextlib.asynccontextmanager
async def with_queue() -> AsyncIterator[Daemon]:
    """Run a daemon that reads a queue of its own inside the block."""
    with moto_server() as aws:
        sqs = boto3.client(
            "sqs",
            region_name=REGION,
            endpoint_url=aws,
            aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        )
        queue = sqs.create_queue(QueueName="node")["QueueUrl"]
        variables = {**CREDENTIALS, "AWS_ENDPOINT_URL": aws, "REPRIEVE_AWS_QUEUE_URL": queue}
        async with _running(DAEMON, variables) as daemon:
            yield daemon


@contextlib.asynccontextmanager
async def _running(program: Sequence[str], variables: Mapping[str, str]) -> AsyncIterator[Daemon]:
    """Run a simulated EC2 and a daemon inside the block."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "run").mkdir()
        play = ("simulate", "aws", "--port=0", "--quiet")
        run = ("run", "--cloud=aws", f"--run-dir={directory / 'run'}", "--listen=127.0.0.1:0")
        async with (
            aiohttp.ClientSession() as session,
            watcher_process(*play, log=directory / "cloud.log") as cloud,
            watcher_program(
                *run,
                f"--metadata-endpoint={cloud}",
                program=program,
                log=directory / "daemon.log",
                **variables,
            ) as (process, url),
        ):
            yield Daemon(process.pid, url, session)
