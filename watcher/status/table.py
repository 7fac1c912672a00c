"""What the daemon has told, as a person reads it. Pure.

Much of it was said by others: clouds, API servers, trainers, whoever can write to a Node. So every
word is cut, and what is no printable character is escaped: nobody sends the terminal commands.
"""

from collections.abc import Iterable, Iterator, Sequence

from watcher.durations import lasting
from watcher.errors import escaped
from watcher.status.told import NodeTold, NoticeTold, PodsTold, StateTold, TrainerTold

CELL_LIMIT = 200
"""Longest word or reason that is shown, in characters."""

NOTHING = "-"


def table(state: StateTold) -> str:
    """Return the whole, each part after an empty line."""
    parts = (
        _head(state),
        _sources(state),
        *(_notice(one, state.now_s, is_planned=False) for one in state.in_force),
        *(_notice(one, state.now_s, is_planned=True) for one in state.planned),
        _cluster(state),
        _trainers(state),
    )
    return "\n\n".join("\n".join(part) for part in map(list, parts) if part) + "\n"


def _head(state: StateTold) -> Iterator[str]:
    yield f"{_clean(state.node)}: {_verdict(state)}"
    yield f"cloud {_clean(state.cloud)}: {_clean(state.cloud_why)}"


def _verdict(state: StateTold) -> str:
    if state.in_force:
        first = min(one.counts_until_s for one in state.in_force)
        count = len(state.in_force)
        what = "a notice is" if count == 1 else f"{count} notices are"
        return f"{what} in force, {_left(first, state.now_s)}"
    if not state.is_ready:
        return "UNKNOWN: no notice is in force, but not everything can be heard, see below"
    planned = f", {len(state.planned)} planned" if state.planned else ""
    return f"no notice is in force{planned}"


def _sources(state: StateTold) -> list[str]:
    rows = [("SOURCE", "KEY", "ANSWER", "AGE", "")]
    for key in state.keys:
        age = NOTHING if key.answered_s is None else lasting(state.now_s - key.answered_s)
        blind = ""
        if key.blind_since_s is not None:
            blind = f"blind for {lasting(state.now_s - key.blind_since_s)}: {key.why}"
        rows.append((key.source, key.key, key.last_answer, age, blind))
    return _aligned(rows)


def _notice(notice: NoticeTold, now_s: float, *, is_planned: bool) -> Iterator[str]:
    when = _left(notice.counts_until_s, now_s)
    if not notice.has_deadline:
        when += " by the usual window, as the cloud has named no time"
    if is_planned:
        when = f"in force in {lasting(notice.acts_from_s - now_s)}; {when}"
    heard = f"heard by {_clean(notice.source)} {lasting(now_s - notice.received_s)} ago"
    yield f"NOTICE {_clean(notice.id)}"
    yield f"{_clean(notice.kind)}, {_clean(notice.urgency)}, {when}; {heard}"
    rows = [(f"  {one.name}", one.outcome, one.what) for one in notice.actions]
    yield from _aligned(rows)


def _cluster(state: StateTold) -> Iterator[str]:
    if not state.is_in_cluster:
        return
    if state.kubernetes_node is None:
        yield "NODE not read so far"
    else:
        yield _node(state.kubernetes_node, state.now_s)
    if state.pods is not None:
        yield from _pods(state.pods)


def _node(node: NodeTold, now_s: float) -> str:
    how = "schedulable"
    if node.is_unschedulable:
        how = "cordoned by us" if node.is_cordoned_by_us else "cordoned, and not by us"
    tainted = "".join(f", tainted {_clean(taint)}" for taint in node.taints)
    return f"NODE {_clean(node.name)}: {how}{tainted} ({lasting(now_s - node.seen_s)} ago)"


def _pods(pods: PodsTold) -> Iterator[str]:
    forced = f"; {pods.forced} deleted past their budgets" if pods.forced else ""
    yield (
        f"PODS {pods.to_evict} to evict, of them {pods.held} held and {pods.blocked} blocked; "
        f"{pods.evicted} evicted, of them {pods.gone} gone{forced}"
    )
    rows = [(f"  {name}", "held", why) for name, why in pods.held_by.items()]
    rows += [(f"  {name}", "blocked", why) for name, why in pods.blocked_by.items()]
    yield from _aligned(rows)


def _trainers(state: StateTold) -> list[str]:
    unknown = [f"trainers unknown: {_clean(state.unknown)}"] if state.unknown else []
    rows = [("TRAINER", "STATE", "STEP", "COMMITTED", "HEARTBEAT")]
    rows += [_trainer(one, state.now_s) for one in state.trainers]
    refused = [(f"  {name}", "refused", why) for name, why in state.refused.items()]
    if not state.trainers:
        silent = [] if unknown else ["no trainer has said anything"]
        return [*silent, *unknown, *_aligned(refused)]
    return [*_aligned(rows), *unknown, *_aligned(refused)]


def _trainer(one: TrainerTold, now_s: float) -> tuple[str, str, str, str, str]:
    committed = NOTHING if one.committed_step is None else f"{one.committed_step}"
    if one.committed_s is not None:
        committed += f", {lasting(now_s - one.committed_s)} ago"
    heartbeat = f"{lasting(one.heartbeat_age_s)} ago"
    if not one.is_alive and one.state != "exited":
        heartbeat += ", so taken for dead"
    return one.id, one.state, str(one.step), committed, heartbeat


def _left(until_s: float, now_s: float) -> str:
    if until_s > now_s:
        return f"{lasting(until_s - now_s)} left"
    return f"its time was over {lasting(now_s - until_s)} ago"


def _aligned(rows: Iterable[Sequence[str]]) -> list[str]:
    """Return rows as lines whose columns begin below each other."""
    clean = [[_clean(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*clean, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in clean
    ]


def _clean(text: str) -> str:
    shown = escaped(text[: CELL_LIMIT + 1])
    return shown if len(text) <= CELL_LIMIT else f"{shown[:CELL_LIMIT]}..."
