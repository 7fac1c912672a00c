"""Commands that say which checkpoints count, or delete them."""

from argparse import Namespace

from trainer_hooks.checkpoint.keep import Keep
from trainer_hooks.checkpoint.latest import Checkpoint, judged
from trainer_hooks.checkpoint.marks import Mark, remove_mark
from trainer_hooks.checkpoint.pins import pin
from trainer_hooks.checkpoint.place import Place, bytes_in
from trainer_hooks.checkpoint.quarantine import quarantine, roll_back
from trainer_hooks.checkpoint.retention import Survey, retain, survey
from trainer_hooks.commands.choosing import chosen, saves_in
from trainer_hooks.commands.listing import size
from trainer_hooks.commands.show import show
from trainer_hooks.errors import CheckpointError

DONE = 0


def roll_back_checkpoints(options: Namespace) -> int:
    """Put everything from a step on in quarantine, and say where the job goes on."""
    saves_in(options.directory)
    reason = options.reason or f"rolled back before step {options.before_step}"
    for name in roll_back(options.directory, options.before_step, reason):
        show(f"{name}  quarantined: {reason}")
    _show_newest(options.directory)
    return DONE


def quarantine_checkpoints(options: Namespace) -> int:
    """Put saves in quarantine, or take them out of it, and say where the job goes on."""
    for name in chosen(options.directory, options.names):
        if options.undo:
            remove_mark(options.directory, Mark.QUARANTINED, name)
            show(f"{name}  no longer in quarantine")
        else:
            quarantine(options.directory, name, options.reason)
            show(f"{name}  quarantined: {options.reason}")
    _show_newest(options.directory)
    return DONE


def pin_checkpoints(options: Namespace) -> int:
    """Keep saves from being deleted, or no longer."""
    for name in chosen(options.directory, options.names):
        if options.undo:
            remove_mark(options.directory, Mark.PINNED, name)
            show(f"{name}  no longer pinned")
        else:
            pin(options.directory, name, options.reason)
            show(f"{name}  pinned: {options.reason}")
    return DONE


def collect_garbage(options: Namespace) -> int:
    """Delete what retention would, or only say what.

    Raises:
        CheckpointError: Something could not be deleted; what could be is.
    """
    root = options.directory
    saves_in(root)
    keep = Keep(last=options.keep_last, hourly=options.hourly, daily=options.daily)
    found = survey(root, keep)
    for line in _lines(root, found):
        show(line)
    if options.dry_run:
        return DONE
    failures: list[CheckpointError] = []
    deleted = retain(root, keep, lambda: True, failures.append)
    show(f"deleted {len(deleted)}: {', '.join(map(str, deleted)) or 'nothing'}")
    if failures:
        raise CheckpointError("; ".join(map(str, failures))) from failures[0]
    return DONE


def _lines(root: Place, found: Survey) -> list[str]:
    surplus = [checkpoint.marker.name for checkpoint in found.surplus]
    surplus_lines = [
        f"delete  {name}  surplus, {size(bytes_in(root / str(name)))}" for name in surplus
    ]
    leftovers = [f"delete  {name}  left over by a crash" for name in found.leftovers]
    kept = [f"keep    {name}  {why}" for name, why in sorted(found.kept.items(), reverse=True)]
    return kept + surplus_lines + leftovers


def _show_newest(root: Place) -> None:
    newest = next((found for found in judged(root) if isinstance(found, Checkpoint)), None)
    if newest is None:
        show("no committed checkpoint is left: the job will not start over what is there")
    else:
        show(f"the job goes on from {newest.marker.name}")
