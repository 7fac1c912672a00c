"""Alerts, dashboard and examples: valid for the programs that read them, and whole."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest
import yaml  # type: ignore[import-untyped]  # its stubs would be one more dependency for few tests
from prometheus_client import CollectorRegistry

from tests.support.clocks import TurnedClock
from tests.support.kustomized import DAEMONSET, composed, named
from tests.support.prometheus import MONITORING, RULES, program
from tests.support.trainers import trainer
from watcher.faces.trainer_watch import TrainerWatch
from watcher.metrics import Metrics
from watcher.rank_figures import Phase, RankFigures
from watcher.state import State
from watcher.trainer_figures import TrainerFigures
from watcher.trainers import Trainers

ROOT = MONITORING.parents[1]
DASHBOARD = MONITORING / "grafana-dashboard.json"
NAME = re.compile(r"\breprieve_[a-z0-9_]+")


def parsed(path: Path) -> dict[str, Any]:
    return cast("dict[str, Any]", yaml.safe_load(path.read_text()))


def alerts() -> list[dict[str, Any]]:
    return [rule for group in parsed(RULES)["groups"] for rule in group["rules"]]


def checked(*command: str | Path) -> str:
    """Return what a checker prints; it has to be content."""
    done = subprocess.run(
        [program(str(command[0])), *command[1:]], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


async def nobody() -> Trainers:
    """Look at nobody."""
    return Trainers()


@pytest.fixture
def registry(clock: TurnedClock) -> CollectorRegistry:
    """Every metric of a daemon, with a trainer that says all that one can."""
    metrics = Metrics()
    watch = TrainerWatch(nobody, State(), metrics, clock)
    rank = RankFigures(steps=1.0, spent_s=dict.fromkeys(Phase, 1.0))
    names = [name for name in TrainerFigures.__slots__ if name not in ("ranks", "version")]
    amounts: dict[str, Any] = dict.fromkeys(names, 1.0)
    figures = TrainerFigures(**amounts, ranks=(rank,))
    watch.note(Trainers(found=(trainer(committed_s=0, figures=figures),)))
    return metrics.registry


@pytest.fixture
def clock() -> TurnedClock:
    """Clocks that stand still."""
    return TurnedClock()


def queries() -> list[str]:
    """Return every query of the dashboard."""
    dashboard = json.loads(DASHBOARD.read_text())
    return [one["expr"] for panel in dashboard["panels"] for one in panel.get("targets", [])]


def test_rules_are_valid_when_promtool_reads_them() -> None:
    """Syntax, templates and names."""
    assert f"{len(alerts())} rules found" in checked("promtool", "check", "rules", RULES)


def test_alerts_fire_and_do_not_fire_as_their_cases_say() -> None:
    """At their real thresholds, in virtual time."""
    assert "SUCCESS" in checked("promtool", "test", "rules", MONITORING / "rules.test.yaml")


def test_every_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    """Each test of the file is about the alert of its name."""
    cases = {test["name"]: test["promql_expr_test"] for test in parsed_cases()}
    assert list(cases) == [alert["alert"] for alert in alerts()]
    for name, checks in cases.items():
        fires = [name in str(check["exp_samples"]) for check in checks]
        assert fires[0] is False, name
        assert True in fires, name


def parsed_cases() -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", parsed(MONITORING / "rules.test.yaml")["tests"])


def test_every_alert_is_in_the_runbook() -> None:
    """Under the very heading that the alert links to, and no heading without an alert."""
    page = (ROOT / "docs" / "runbook.md").read_text()
    names = re.findall(r"^## (Reprieve\w+)$", page, flags=re.MULTILINE)
    assert names == [alert["alert"] for alert in alerts()]
    for alert in alerts():
        assert alert["annotations"]["runbook"] == f"docs/runbook.md#{alert['alert'].lower()}"
        assert alert["annotations"].keys() == {"summary", "description", "runbook"}
        assert alert["labels"]["severity"] in {"critical", "warning"}


def test_operator_gets_the_same_rules() -> None:
    """The custom resource repeats them, as kustomize can't wrap a file."""
    resource = parsed(MONITORING / "prometheusrule.yaml")
    assert resource["apiVersion"] == "monitoring.coreos.com/v1"
    assert resource["kind"] == "PrometheusRule"
    assert resource["spec"] == parsed(RULES)


def test_component_comes_with_the_daemonset_when_rendered(tmp_path: Path) -> None:
    """As the README composes them."""
    objects = composed(tmp_path / "mine", [DAEMONSET], [MONITORING])
    assert named(objects, "PrometheusRule")["spec"] == parsed(RULES)
    dashboard = named(objects, "ConfigMap", "reprieve-dashboard")
    assert json.loads(dashboard["data"][DASHBOARD.name])["uid"] == "reprieve"
    assert named(objects, "DaemonSet")


def test_component_names_every_file_that_is_for_the_cluster() -> None:
    """The rules as a resource, the dashboard in a ConfigMap that Grafana's sidecar finds."""
    component = parsed(MONITORING / "kustomization.yaml")
    assert component["kind"] == "Component"
    assert component["resources"] == ["prometheusrule.yaml"]
    [generated] = component["configMapGenerator"]
    assert generated["files"] == [DASHBOARD.name]
    assert generated["options"]["labels"] == {"grafana_dashboard": "1"}


def test_examples_are_valid_when_their_programs_read_them() -> None:
    """A whole Prometheus configuration, and Alertmanager's routes."""
    checked("promtool", "check", "config", MONITORING / "prometheus.yaml")
    said = checked("amtool", "check-config", MONITORING / "alertmanager.yaml")
    assert "SUCCESS" in said


@pytest.mark.parametrize(
    ("labels", "receiver"),
    [
        (["alertname=ReprieveWatcherBlind", "severity=critical"], "reprieve-pages"),
        (["alertname=ReprieveWasteHigh", "severity=warning"], "reprieve-tickets"),
        (["alertname=SomethingElse", "severity=critical"], "default"),
    ],
)
def test_alert_goes_to_whom_the_route_says(labels: list[str], receiver: str) -> None:
    """Pages for what can't wait."""
    file = f"--config.file={MONITORING / 'alertmanager.yaml'}"
    said = checked("amtool", "config", "routes", "test", file, *labels)
    assert said.strip() == receiver


def exported(registry: CollectorRegistry) -> set[str]:
    """Return the names that a scrape of it can hold."""
    endings = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum")}
    return {
        metric.name + ending
        for metric in registry.collect()
        for ending in endings.get(metric.type, ("",))
    }


def test_queries_use_metrics_that_there_are(registry: CollectorRegistry) -> None:
    """In alerts and dashboard; a metric that was renamed would never be missed by anybody."""
    used = {name for text in (RULES.read_text(), *queries()) for name in NAME.findall(text)}
    assert used - exported(registry) == set()


def test_page_lists_exactly_the_metrics_that_there_are(registry: CollectorRegistry) -> None:
    """With their labels, in docs/monitoring.md."""
    page = (ROOT / "docs" / "monitoring.md").read_text()
    listed = set(re.findall(r"^\| `(reprieve_[a-z0-9_]+)", page, flags=re.MULTILINE))
    endings = {"counter": "_total"}
    names = {metric.name + endings.get(metric.type, "") for metric in registry.collect()}
    assert listed == names
