"""The reference of the watcher's settings, made of the code that reads them.

Run as a program it writes docs/settings.md anew.
"""

import ast
import inspect
import json
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from signal import Signals
from typing import Any

from tests.support.image_root import ROOT
from watcher.config import Config, DrainConfig, FacesConfig, RelayConfig, SignalConfig
from watcher.settings import _OWNERS, SETTINGS

PAGE = ROOT / "docs" / "settings.md"

_HEAD = """\
# Settings of the watcher

Written by `make settings` from the code that reads them; a test holds it against that.

A setting is a key in the file that `--config` names (TOML; `faces.listen` is `listen` under
`[faces]`), or a variable in the environment: `REPRIEVE_` and the key in capitals, with `_` for each
dot (`REPRIEVE_FACES_LISTEN`). The command line wins over the environment, the environment over the
file. A key that is not known, or a value that makes no sense, ends the watcher with 78 and a line
that says what it would take. `reprieve-watcher check-config` shows what is in force, and where each
was set.
"""

_POLICY = """
## policy

What a kind of notice means: `policy.KIND.urgency`, `lead_s`, `actions` and `expires_s`. Their
defaults are a table, in [policy.md](policy.md), which says what can't be set and why.
"""

_SECTIONS: dict[str, type[Any]] = {
    "": Config,
    "faces": FacesConfig,
    "signal": SignalConfig,
    "drain": DrainConfig,
    "relay": RelayConfig,
    **{name: owner.settings for name, owner in _OWNERS.items()},
}


def page() -> str:
    """Return the page as it should be."""
    return _HEAD + "".join(_section(name) for name in _SECTIONS) + _POLICY


def keys() -> list[str]:
    """Return every key that a section of the page is about."""
    return [f"{name}.{field}".lstrip(".") for name in _SECTIONS for field in _fields(name)]


def _fields(name: str) -> list[str]:
    """Name what can be set in a section, in the order of its dataclass."""
    prefix = f"{name}." if name else ""
    return [one.name for one in fields(_SECTIONS[name]) if prefix + one.name in SETTINGS]


def _section(name: str) -> str:
    settings = _SECTIONS[name]
    meanings = dict(_meanings(settings))
    rows = ""
    for field in _fields(name):
        takes = _taken(f"{name}.{field}".lstrip("."))
        cells = (f"`{field}`", _default(settings, field), _cell(takes), _cell(meanings[field]))
        rows += f"| {' | '.join(cells)} |\n"
    title = name or "At the top"
    about = _text((inspect.getdoc(settings) or "").split("\n\n")[0])
    head = "| key | default | takes | |\n|---|---|---|---|\n"
    return f"\n## {title}\n\n{about}\n\n{head}{rows}"


def _meanings(settings: type[Any]) -> Iterator[tuple[str, str]]:
    """Yield each field with the text that stands under it in the code."""
    (definition,) = ast.parse(inspect.getsource(settings)).body
    assert isinstance(definition, ast.ClassDef)
    for field, said in zip(definition.body, definition.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(said, ast.Expr):
            assert isinstance(field.target, ast.Name)
            yield field.target.id, ast.literal_eval(said.value)


def _default(settings: type[Any], field: str) -> str:
    if (settings, field) == (Config, "node"):
        return "the host's name"
    value = getattr(settings(), field)
    if value is None or value == ():
        return "not set"
    if isinstance(value, Signals):
        value = value.name
    if isinstance(value, tuple):
        value = list(value)
    if not isinstance(value, bool | int | float | list):
        value = str(value)
    return f"`{json.dumps(value)}`"


def _taken(key: str) -> str:
    """Return what a key's reader says it had expected, of something that nobody can mean."""
    said = ""
    for nonsense in (object(), "\n"):
        try:
            SETTINGS[key](nonsense)
        except ValueError as error:
            said = str(error).partition(" (Expecting")[0]  # the parser's own words are Python's
    assert said, f"{key} takes anything"
    return said


def _text(said: str) -> str:
    return re.sub(r"``([^`]*)``", r"`\1`", " ".join(said.split()))


def _cell(said: str) -> str:
    return _text(said).replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    Path(PAGE).write_text(page(), encoding="utf-8")
