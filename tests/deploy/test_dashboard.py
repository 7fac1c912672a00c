"""The Grafana dashboard: by Grafana's own schema, on the metrics that there are, and whole."""

import json
import re
from typing import Any

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from tests.support.prometheus import MONITORING

DASHBOARD: dict[str, Any] = json.loads((MONITORING / "grafana-dashboard.json").read_text())
EMPTY: tuple[object, ...] = (None, "", False, [], {})


def lost(mine: Any, theirs: Any, path: str = "") -> list[str]:  # noqa: ANN401 - any JSON
    """Return what of ours is not in theirs, or is something else there."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        names = {name for name, value in mine.items() if name in theirs or value not in EMPTY}
        return [
            found
            for name in sorted(names)
            for found in lost(mine[name], theirs.get(name), f"{path}.{name}")
        ]
    if isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        pairs = enumerate(zip(mine, theirs, strict=True))
        return [found for at, (one, other) in pairs for found in lost(one, other, f"{path}[{at}]")]
    return [] if mine == theirs else [path]


def test_dashboard_is_all_in_grafanas_schema_when_read_by_it() -> None:
    """What a model of Grafana's does not know is gone after it has read and written it."""
    register_default_plugins()
    model = Dashboard.from_json(DASHBOARD)
    written = json.loads(JSONEncoder().encode(model))
    # How an annotation is worded is for the data source to say, which the schema leaves out.
    wording = [".annotations.list[0].textFormat", ".annotations.list[0].titleFormat"]
    assert lost(DASHBOARD, written) == wording


def test_schema_check_finds_a_field_that_is_none_of_grafanas() -> None:
    """Else it would check nothing."""
    assert lost({"a": [{"b": 1, "c": None}]}, {"a": [{}]}) == [".a[0].b"]


def test_panels_are_told_apart_and_do_not_lie_on_each_other() -> None:
    """Grafana reads it without a word, and moves them about."""
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = [cell for panel in panels for cell in cells(panel["gridPos"])]
    assert len(set(taken)) == len(taken)
    assert all(0 <= column < 24 for column, _ in taken)


def test_queries_name_only_variables_that_there_are() -> None:
    """Another one would be sent to Prometheus as it stands."""
    known = {variable["name"] for variable in DASHBOARD["templating"]["list"]}
    for panel in DASHBOARD["panels"]:
        targets = panel.get("targets", [])
        assert len({one["refId"] for one in targets}) == len(targets)
        for one in targets:
            assert set(re.findall(r"\$(?!__)(\w+)", one["expr"])) <= known
            assert one["datasource"]["uid"] == "${datasource}"


def cells(place: dict[str, int]) -> list[tuple[int, int]]:
    """Return the cells that a panel covers."""
    return [
        (place["x"] + column, place["y"] + line)
        for column in range(place["w"])
        for line in range(place["h"])
    ]
