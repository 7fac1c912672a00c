"""Fuzz one parser: parsers.py TARGET SECONDS CORPUS.

Atheris mutates bytes towards code that has not run yet. Anything but an answer or SourceMalformed
ends the process with a traceback, a non-zero status and the input in the working directory.
"""

import sys

import atheris

FUZZED = [
    "trainer_hooks.checkpoint.index_check",
    "trainer_hooks.checkpoint.manifest",
    "trainer_hooks.checkpoint.marker",
    "trainer_hooks.checkpoint.metadata",
    "trainer_hooks.flag",
    "trainer_hooks.notice_url",
    "trainer_hooks.untrusted",
    "trainer_hooks.waste",
    "watcher.actions.flag_v1",
    "watcher.actions.node_state",
    "watcher.actions.notice_fields",
    "watcher.actions.state_file",
    "watcher.actions.webhook_template",
    "watcher.drill.history",
    "watcher.gcp",
    "watcher.kube",
    "watcher.notice",
    "watcher.requests",
    "watcher.setting_values",
    "watcher.settings",
    "watcher.sources",
    "watcher.status",
    "watcher.trainers",
]
"""What mutation is steered by: all that reads, and not what it happens to import."""

with atheris.instrument_imports(include=FUZZED):
    from tests.fuzz.files import FILES
    from tests.fuzz.on_node import ON_NODE
    from tests.fuzz.on_run import ON_RUN
    from tests.fuzz.targets import TARGETS
    from watcher.errors import SourceMalformed


def main(target: str, seconds: str, corpus: str) -> None:
    """Fuzz until the seconds are over; libFuzzer then ends the process."""
    parse = {**TARGETS, **FILES, **ON_NODE, **ON_RUN}[target]

    def once(data: bytes) -> None:
        try:
            parse(data)
        except SourceMalformed:
            return

    # A body of 64 KiB is the most that the metadata client reads; longer ones only slow it down.
    atheris.Setup(
        [sys.argv[0], f"-max_total_time={seconds}", "-max_len=65536", "-timeout=20", corpus], once
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
