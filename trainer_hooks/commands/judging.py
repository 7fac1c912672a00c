"""Commands that look at checkpoints: ``ls`` and ``verify``."""

import json
from argparse import Namespace
from datetime import UTC, datetime

from trainer_hooks.checkpoint.catalogue import SaveState, catalogue
from trainer_hooks.checkpoint.layout import SaveName
from trainer_hooks.checkpoint.removal import was_committed
from trainer_hooks.checkpoint.verification import Level, verify
from trainer_hooks.commands.choosing import chosen, saves_in
from trainer_hooks.commands.listing import table
from trainer_hooks.commands.progress import progress
from trainer_hooks.commands.show import show
from trainer_hooks.errors import ConfigError
from trainer_hooks.untrusted import in_one_line

GOOD, BAD = 0, 1


def list_checkpoints(options: Namespace) -> int:
    """Show every save in a directory, newest first, and what it is worth."""
    saves_in(options.directory)
    entries = catalogue(options.directory)
    if options.json:
        show(json.dumps([entry.to_json() for entry in entries], indent=1))
    elif not entries:
        show(f"no checkpoint in {options.directory}, nor anything that was to become one")
    else:
        show(table(entries, datetime.now(UTC)))
    return GOOD


def verify_checkpoints(options: Namespace) -> int:
    """Look at checkpoints as closely as is asked for; 1 if one is not good, or none is there."""
    root = options.directory
    names = _meant(options)
    level = Level.LOAD if options.deep else Level.SIZES
    sizes = {entry.name: entry.bytes for entry in catalogue(root)} if options.deep else {}
    verdicts = list[dict[str, object]]()
    is_good = bool(names)
    for name in names:
        # Every byte is read twice: for its digest, and to load it.
        with progress(str(name), 2 * sizes.get(name, 0)) as on_bytes:
            damage = verify(root, name, level, on_bytes)
        if damage and not options.names and not was_committed(root / str(name)):
            if not options.json:
                show(f"{name}  deleted meanwhile")
            continue
        is_good = is_good and not damage
        verdicts.append({"name": str(name), "level": level, "damage": damage})
        if not options.json:
            show(in_one_line(f"{name}  {'; '.join(damage) or f'good ({level})'}"))
    if options.json:
        show(json.dumps(verdicts, indent=1))
    elif not names:
        show(f"no committed checkpoint in {root}")
    return GOOD if is_good else BAD


def _meant(options: Namespace) -> list[SaveName]:
    """Return those that are named; else what a run may try to resume from, whole or not."""
    root = options.directory
    if options.names and options.newest:
        raise ConfigError(f"either --newest or names: {' '.join(options.names)}")
    if options.names:
        return chosen(root, options.names)
    saves_in(root)
    tried = (SaveState.COMMITTED, SaveState.TORN)
    names = [entry.name for entry in catalogue(root) if entry.state in tried]
    return names[:1] if options.newest else names
