"""A real Prometheus beside a real watcher: the alerts fire and clear, the dashboard shows data."""

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.cloud import Node
from tests.support.launching import descendants, launch, wait_until
from tests.support.ports import quiet_port
from tests.support.prometheus import MONITORING, Prometheus, program, prometheus
from tests.support.rehearsed_trainer import RehearsedTrainer
from trainer_hooks.status import TrainerState

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(300)]

TRAIN_GPT = Path(__file__).parents[2] / "examples" / "train_gpt.py"


@contextmanager
def watched(directory: Path) -> Iterator[tuple[Node, Prometheus]]:
    """Run a simulated cloud, a watcher, and a Prometheus that scrapes it."""
    program("prometheus")
    port = quiet_port()
    node = Node(directory=directory, options=(f"--listen=127.0.0.1:{port}",))
    (node.run_dir / "trainers").mkdir(parents=True)
    with node, prometheus(directory / "prometheus", f"127.0.0.1:{port}") as server:
        yield node, server


@pytest.fixture
def quiet(tmp_path: Path) -> Iterator[tuple[Node, Prometheus]]:
    """A node without a job."""
    with watched(tmp_path) as found:
        yield found


def test_alerts_fire_and_clear_beside_a_real_job(tmp_path: Path) -> None:
    """Late saves, a blind and a dead watcher, ranks that hear nothing; and the notice's timings."""
    arguments = [f"--checkpoint-dir={tmp_path / 'ckpt'}", "--steps=100000", "--save-every=1000000"]
    arguments += ["--min-step-s=0.1", "--batch-size=2", "--always-stop"]
    with watched(tmp_path) as (node, server), launch(tmp_path, TRAIN_GPT, *arguments) as job:
        trainers = node.run_dir / "trainers"
        wait_until(lambda: any(trainers.iterdir()), "the job", timeout_s=100)
        server.wait_for("ReprieveCheckpointOld", is_firing=True)
        node.advise()  # which brings the next save forward
        server.wait_for("ReprieveCheckpointOld", is_firing=False)
        assert server.query("reprieve_trainer_last_commit_timestamp_seconds")

        node.inflict("status", status=403)
        server.wait_for("ReprieveWatcherBlind", is_firing=True)
        node.lift_faults()
        server.wait_for("ReprieveWatcherBlind", is_firing=False)

        node.kill_watcher()
        server.wait_for("ReprieveWatcherDown", is_firing=True)
        node.start_watcher()
        server.wait_for("ReprieveWatcherDown", is_firing=False)

        ranks = descendants(job.process.pid)
        signal_all(ranks, signal.SIGSTOP)
        node.issue_notice()
        server.wait_for("ReprieveNoticeUnanswered", is_firing=True)
        signal_all(ranks, signal.SIGCONT)
        assert job.wait(60) == 75, job.output
        server.wait_for("ReprieveNoticeUnanswered", is_firing=False)
        for stage in ("flag", "noticed", "stopped", "committed"):
            server.wait_for_data(
                f'reprieve_notice_to_stage_seconds_count{{kind="preemption",stage="{stage}"}}'
            )
    assert re.search(r"notice answered .* committed_s=\d", node.log("watcher"))


def signal_all(pids: list[int], number: signal.Signals) -> None:
    """Signal every process."""
    for pid in pids:
        os.kill(pid, number)


def test_alerts_fire_and_clear_as_a_trainer_says_how_it_is(quiet: tuple[Node, Prometheus]) -> None:
    """Each from a trainer that is well but for one figure, and well again."""
    node, server = quiet
    sick: dict[str, dict[str, object]] = {
        "ReprieveStepsSlow": {"step_s": 0.5},
        "ReprieveStraggler": {"straggler_s": 0.03},
        "ReprieveUploadOutlastsInterval": {"commit_lag_s": 60.0},
        "ReprieveWasteHigh": {"productive_gpu_s": 400.0},
        "ReprieveCheckpointsUnverified": {"verified_at": "2026-01-01T00:00:00Z"},
    }
    with RehearsedTrainer(node.run_dir).speaking() as says:
        server.wait_for_data("count_over_time(reprieve_trainer_step_seconds[20s]) > 8")
        assert server.firing() == set(), "a trainer that is well alarms nobody"
        for alert, figures in sick.items():
            says.update(figures)
            server.wait_for(alert, is_firing=True)
            says.clear()
            server.wait_for(alert, is_firing=False)
        junk = RehearsedTrainer(node.run_dir, 2)
        junk.write(b"{")
        server.wait_for("ReprieveTrainersUnseen", is_firing=True)
        junk.leave()
        server.wait_for("ReprieveTrainersUnseen", is_firing=False)


def test_starts_alarm_when_there_are_many(quiet: tuple[Node, Prometheus]) -> None:
    """A crash loop, with each start a file of its own; it clears as they stop."""
    node, server = quiet
    server.wait_for_data("reprieve_trainer_starts_total == 0")
    for number in range(12):
        RehearsedTrainer(node.run_dir, number).say(TrainerState.EXITED)
        time.sleep(0.1)  # as a loop does; some fall between two scrapes
    server.wait_for("ReprieveRestartsOften", is_firing=True)
    server.wait_for("ReprieveRestartsOften", is_firing=False)


def test_every_query_of_the_dashboard_shows_data(quiet: tuple[Node, Prometheus]) -> None:
    """On a node with a notice in force, a trainer, a source and an action that have failed."""
    node, server = quiet
    node.inflict("status", status=503)
    server.wait_for("ReprieveWatcherBlind", is_firing=True)
    node.lift_faults()
    away = node.run_dir.with_name("away")
    node.run_dir.rename(away)
    node.issue_notice()
    server.wait_for_data('reprieve_actions_total{outcome="retrying"}')
    away.rename(node.run_dir)
    wait_until(node.flag.exists, "the flag")
    dashboard = json.loads((MONITORING / "grafana-dashboard.json").read_text())
    queries = [one["expr"] for panel in dashboard["panels"] for one in panel.get("targets", [])]
    with RehearsedTrainer(node.run_dir).speaking() as says:
        says.update(straggler_score=1.0, straggler_s=0.0)
        for query in queries:  # what is no number is no data
            server.wait_for_data(f"({resolved(query)}) > -Inf")


def resolved(query: str) -> str:
    """Return a query with Grafana's variables as for all nodes."""
    for name, value in {"$__rate_interval": "20s", "$job": ".*", "$instance": ".*"}.items():
        query = query.replace(name, value)
    return query
