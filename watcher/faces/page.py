"""The status page: what /v1/state says, as a person reads it at a glance. Pure.

Much of it was said by others: clouds, API servers, trainers, whoever can write to a Node. It is
cut, and stands in the page as text only.
"""

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from watcher.durations import lasting
from watcher.errors import escaped
from watcher.faces.page_frame import framed

_ELSEWHERE = (
    '<p class="soft">The same for programs: <a href="/v1/state">/v1/state</a>, '
    '<a href="/metrics">/metrics</a>, <a href="/readyz">/readyz</a></p>'
)
_CELL_LIMIT = 200
_PAST_LIMIT = 20
_DRILL = "drill"

Said = Mapping[str, Any]
"""A part of the document of /v1/state."""


def page(said: Said) -> str:
    """Return the page for a document of /v1/state."""
    now_s = float(said["now_unix_s"])
    verdict, mood = _verdict(said)
    parts = (
        f"<h1>{_text(said['node'])}</h1>",
        f'<p class="verdict {mood}" role="status">{verdict}</p>',
        _cloud(said),
        *(_notice(one, now_s) for one in said["in_force"]),
        *(_notice(one, now_s, planned=True) for one in said["planned"]),
        _trainers(said["trainers"], now_s),
        _sources(said["sources"], now_s),
        _past(said["past"], now_s),
        _ELSEWHERE,
    )
    return framed(f"{_text(said['node'])}: {verdict}", "".join(parts), now_s)


def _verdict(said: Said) -> tuple[str, str]:
    """Return what matters most, and how it looks."""
    in_force = said["in_force"]
    if any(one["kind"] != _DRILL and one["urgency"] == "stop" for one in in_force):
        return "This node is being taken", "bad"
    if any(one["kind"] == _DRILL for one in in_force):
        return "A drill is running", "warn"
    if in_force:
        return "Advice is in force", "warn"
    if not said["ready"]:
        return "Unknown: not everything can be heard", "warn"
    return "No notice is in force", "good"


def _cloud(said: Said) -> str:
    drill = ""
    if any(one["kind"] == _DRILL for one in said["in_force"]):
        drill = '<p class="drill">This is a drill: the node stays.</p>'
    cloud = said["cloud"]
    return f'{drill}<p class="soft">{_text(cloud["name"])}: {_text(cloud["why"])}</p>'


def _notice(one: Said, now_s: float, *, planned: bool = False) -> str:
    until_s = float(one["counts_until_unix_s"])
    left = f"its time was over {lasting(now_s - until_s)} ago"
    if until_s > now_s:
        left = f'<b data-until="{until_s:.3f}">{lasting(until_s - now_s)} left</b>'
    if one["deadline_unix_s"] is None:
        left += ", by the usual window: the cloud has named no time"
    heard = f"heard by {_text(one['source'])} {lasting(now_s - one['received_unix_s'])} ago"
    rows = [
        (name, done["outcome"], done["what"], _age(done["tried_unix_s"], now_s))
        for name, done in one["actions"].items()
    ]
    head = "Planned" if planned else "In force"
    return (
        f"<h2>{head}: {_text(one['kind'])} ({_text(one['urgency'])})</h2>"
        f'<p>{left}; {heard}<br><span class="soft">{_text(one["id"])}</span></p>'
        + _table("What was done", ("Action", "Outcome", "What", "When"), rows)
    )


def _trainers(said: Said, now_s: float) -> str:
    rows = []
    for one in said["found"]:
        alive = one["alive"] or one["state"] == "exited"
        state = one["state"] if alive else f"{one['state']}, and silent"
        committed = "-"
        if one["committed_step"] is not None:
            committed = f"step {one['committed_step']}, {_age(one['committed_unix_s'], now_s)}"
        beat = f"{lasting(one['heartbeat_age_s'])} ago"
        rows.append((one["id"], state, str(one["step"]), committed, beat))
    rows += [(name, "refused", "", why, "") for name, why in said["refused"].items()]
    unknown = f'<p class="warn">{_text(said["unknown"])}</p>' if said["unknown"] else ""
    head = ("Trainer", "State", "Step", "Last commit", "Heartbeat")
    none = "" if rows else '<p class="soft">No trainer has said anything.</p>'
    return f"<h2>Trainers</h2>{unknown}{none}" + _table("Trainers on this node", head, rows)


def _sources(said: Mapping[str, Said], now_s: float) -> str:
    rows = []
    for source, one in said.items():
        for key, state in one["keys"].items():
            blind = ""
            if state["blind_since_unix_s"] is not None:
                blind = f"blind for {lasting(now_s - state['blind_since_unix_s'])}: {state['why']}"
            answered = _age(state["answered_unix_s"], now_s)
            rows.append((source, key, state["last_answer"], answered, blind))
    head = ("Source", "Key", "Last answer", "Age", "")
    return "<h2>What is heard</h2>" + _table("Sources and how old their answers are", head, rows)


def _past(said: Sequence[Said], now_s: float) -> str:
    rows = [
        (one["kind"], one["source"], one["outcome"] or "", _age(one["withdrawn_unix_s"], now_s))
        for one in list(said)[: -_PAST_LIMIT - 1 : -1]
    ]
    if not rows:
        return ""
    head = ("Notice", "Source", "How it ended", "When")
    return "<h2>Before</h2>" + _table("Notices that are over", head, rows)


def _table(caption: str, head: Iterable[str], rows: Sequence[Iterable[object]]) -> str:
    if not rows:
        return ""
    names = "".join(f'<th scope="col">{name}</th>' for name in head)
    lines = "".join(f"<tr>{''.join(_cells(row))}</tr>" for row in rows)
    label = html.escape(caption, quote=True)
    table = f'<table aria-label="{label}"><thead><tr>{names}</tr></thead><tbody>{lines}</tbody>'
    return f'<div class="wide">{table}</table></div>'


def _cells(row: Iterable[object]) -> Iterator[str]:
    for cell in row:
        yield f"<td>{_text(cell)}</td>"


def _age(at_s: float | None, now_s: float) -> str:
    return "-" if at_s is None else f"{lasting(now_s - at_s)} ago"


def _text(said: object) -> str:
    """Return what somebody has said as text of the page."""
    text = str(said)
    cut = text if len(text) <= _CELL_LIMIT else f"{text[:_CELL_LIMIT]}..."
    return html.escape(escaped(cut), quote=True)
