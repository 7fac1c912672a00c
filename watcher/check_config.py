"""`reprieve-watcher check-config`: the settings in force, where each was made, and the policy."""

import argparse
import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from signal import Signals

from watcher import console
from watcher.notice import NoticeKind
from watcher.policy import POLICY, Rule
from watcher.settings import SETTINGS, Effective, strangers

_NOTES = """\

WINDOW counts where a notice has no deadline of its own. LEAD is how long before a deadline a notice
comes in force; without one it is in force when it is heard. EXPIRES is how long what was done to
the Node stays; without it as long as the notice is in force. All in seconds.
Actions that lack their set-up are left out: signal needs signal.pid_file, signal.unit or
signal.cgroup, webhook webhook.url, run_command run_command.argv, those on the Node an API server,
no_execute besides that kubernetes.no_execute = "on", node_replacement kubernetes.replacement, and
lifecycle_hook a queue."""


_ABOUT = """\
Show every setting as the daemon would have it, and what made it so: the default, a line of the
file, or a variable of the environment (REPRIEVE_...), which wins over the file. Nothing is started,
and no cloud is asked.

for example:
  reprieve-watcher check-config --config watcher.toml            the settings
  reprieve-watcher check-config --config watcher.toml --explain  what each kind of notice leads to
"""

_STATUS = """\
exit status: 0 they can be used; 78 they can't: which key, and the nearest one that there is
docs/settings.md says what each setting means"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `check-config` takes to ``parser``."""
    parser.description, parser.epilog = _ABOUT, _STATUS
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML file to read")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    what = "show what each kind of notice means, and what of it was set"
    parser.add_argument("--explain", action="store_true", help=what)


def run(effective: Effective, *, as_json: bool, is_explained: bool) -> int:
    """Print the settings, or the policy that they make, and return the exit status."""
    shown = _policy if is_explained else _settings
    for sentence in strangers(os.environ):
        console.complain(sentence)
    console.show("".join(f"{line}\n" for line in shown(effective, as_json=as_json)))
    return 0


def _settings(effective: Effective, *, as_json: bool) -> Iterator[str]:
    rows = {
        key: (_value(effective, key), effective.origins.get(key, "default")) for key in SETTINGS
    }
    if as_json:
        objects = {key: {"value": value, "origin": origin} for key, (value, origin) in rows.items()}
        yield json.dumps(objects, indent=2)
        return
    for key, (value, origin) in rows.items():
        yield f"{key} = {'(not set)' if value is None else json.dumps(value)}  # {origin}"


def _value(effective: Effective, key: str) -> str | float | bool | list[str] | None:
    """Return a setting as one would write it in the file; None where it is not set."""
    value = effective.value(key)
    if isinstance(value, Signals):
        return value.name
    if isinstance(value, tuple):
        return list(value)
    return value if value is None or isinstance(value, float | bool) else str(value)


def _policy(effective: Effective, *, as_json: bool) -> Iterator[str]:
    policy = effective.config.policy
    if as_json:
        objects = {
            kind: {**asdict(rule), "set": _set(effective, kind)} for kind, rule in policy.items()
        }
        yield json.dumps(objects, indent=2)
        return
    yield _row("KIND", "URGENCY", "WINDOW", "LEAD", "EXPIRES", "ACTIONS")
    for kind, rule in policy.items():
        window, lead, expires = map(_time, (rule.default_window_s, rule.lead_s, rule.expires_s))
        yield _row(kind, rule.urgency, window, lead, expires, ", ".join(rule.actions))
        for name, (was, origin) in _differences(effective, kind, rule).items():
            yield f"    {name} set by {origin}; the default is {was}"
    yield _NOTES


def _set(effective: Effective, kind: NoticeKind) -> dict[str, str]:
    """Return by field where it was set, as far as it was."""
    start = f"policy.{kind}."
    origins = effective.origins.items()
    return {key.removeprefix(start): where for key, where in origins if key.startswith(start)}


def _differences(effective: Effective, kind: NoticeKind, rule: Rule) -> dict[str, tuple[str, str]]:
    """Return by field what the default is and where another was set, where they differ."""
    return {
        name: (_shown(getattr(POLICY[kind], name)), origin)
        for name, origin in _set(effective, kind).items()
        if getattr(POLICY[kind], name) != getattr(rule, name)
    }


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(value)
    return _time(value) if isinstance(value, float) else str(value)


def _time(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.10g}"


def _row(*cells: str) -> str:
    kind, urgency, window, lead, expires, actions = cells
    return f"{kind:<15} {urgency:<9} {window:>6} {lead:>7} {expires:>7}  {actions}"
