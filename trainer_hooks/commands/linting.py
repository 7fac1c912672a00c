"""The command that judges manifests: ``lint``."""

import json
import sys
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path

from trainer_hooks.commands.show import show
from trainer_hooks.errors import ConfigError
from trainer_hooks.manifest.document import MAX_BYTES
from trainer_hooks.manifest.finding import Finding, Weight
from trainer_hooks.manifest.lint import lint
from trainer_hooks.manifest.request import platform_named
from trainer_hooks.untrusted import in_one_line

GOOD, BAD = 0, 1


def lint_manifest(options: Namespace) -> int:
    """Show what is wrong with a manifest; 1 if there is an error among it.

    Raises:
        ConfigError: The file can't be read, or is no manifest.
    """
    platform = None if options.cloud is None else platform_named(options.cloud)
    try:
        found = lint(_text(options.file), platform, options.window)
    except ConfigError as error:
        raise ConfigError(f"{options.file}: {in_one_line(str(error))}") from error
    if options.json:
        show(json.dumps([asdict(finding) for finding in found], indent=1))
    else:
        for finding in found:
            show(_in_words(options.file, finding))
        errors = sum(finding.weight is Weight.ERROR for finding in found)
        show(f"{options.file}: {errors} errors, {len(found) - errors} pieces of advice")
    return BAD if any(finding.weight is Weight.ERROR for finding in found) else GOOD


def _text(path: Path) -> str:
    """Read a file, and no more of it than a manifest can have."""
    try:
        if str(path) == "-":
            content = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with path.open("rb") as file:
                content = file.read(MAX_BYTES + 1)
        return content.decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"it cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError("it is not UTF-8") from error


def _in_words(path: Path, finding: Finding) -> str:
    head = f"{path}:{finding.line}: {finding.weight} {finding.rule}"
    return in_one_line(f"{head}: {finding.message}") + f"\n    {in_one_line(finding.mend)}"
