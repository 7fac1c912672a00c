"""Every metric of the daemon and of the relay, in a registry of its own.

Labels are bounded: sources, kinds, actions and outcomes are words from the code, never ids or
texts from a cloud. Instants are exported as timestamps, so that an age is one subtraction in the
query and stays right when the daemon hangs.
"""

from importlib.metadata import version

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_FETCH_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)
_ACT_BUCKETS_S = (0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 30, 60, 120)
_STAGE_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300)


class Metrics:
    """The daemon's metric objects; one instance a process, made in daemon.py."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.source_up = Gauge(
            "reprieve_source_up",
            "1 while every key of the source gives usable answers, 0 while it is blind.",
            ["source"],
            registry=registry,
        )
        self.source_blind_since = Gauge(
            "reprieve_source_blind_since_timestamp_seconds",
            "When the source went blind, in Unix seconds; 0 while it is not.",
            ["source"],
            registry=registry,
        )
        self.source_last_answer = Gauge(
            "reprieve_source_last_answer_timestamp_seconds",
            "When the source last had a usable answer, in Unix seconds.",
            ["source"],
            registry=registry,
        )
        self.fetches = Counter(
            "reprieve_source_fetches_total",
            "What the source's fetches have come to; present and absent are the usable ones.",
            ["source", "outcome"],
            registry=registry,
        )
        self.fetch_seconds = Histogram(
            "reprieve_source_fetch_seconds",
            "How long a usable answer took.",
            ["source"],
            buckets=_FETCH_BUCKETS_S,
            registry=registry,
        )
        self.notices = Counter(
            "reprieve_notices_total",
            "Notices by kind and verdict: admitted, planned, duplicate, withdrawn, unknown; of "
            "a relay relayed, unknown_instance, undelivered.",
            ["kind", "verdict"],
            registry=registry,
        )
        self.messages = Counter(
            "reprieve_messages_total",
            "Messages received from a queue by verdict; the log says why.",
            ["verdict"],
            registry=registry,
        )
        self.messages_held = Gauge(
            "reprieve_messages_held",
            "Messages of a queue that are kept from other readers while work on them is done.",
            registry=registry,
        )
        self.notice_deadline = Gauge(
            "reprieve_notice_deadline_timestamp_seconds",
            "Deadline of the most urgent notice in force, in Unix seconds; 0 while there is none.",
            registry=registry,
        )
        self.actions = Counter(
            "reprieve_actions_total",
            "Attempts of actions by outcome: done, undone, dry_run, waiting, retrying, refused, "
            "given_up.",
            ["action", "outcome"],
            registry=registry,
        )
        self.news = Counter(
            "reprieve_news_total",
            "Attempts to tell people or their programs of a notice, by the action that does and by "
            "outcome: told, retrying, refused, given_up, dropped.",
            ["action", "outcome"],
            registry=registry,
        )
        self.received_to_action = Histogram(
            "reprieve_received_to_action_seconds",
            "From the bytes of a notice to an action's effect; action=flag_file is the flag.",
            ["action"],
            buckets=_ACT_BUCKETS_S,
            registry=registry,
        )
        self.notice_to_stage = Histogram(
            "reprieve_notice_to_stage_seconds",
            "From a stop notice in hand to what was reached: flag (the file tells of it); noticed, "
            "stopped and committed are each trainer's.",
            ["kind", "stage"],
            buckets=_STAGE_BUCKETS_S,
            registry=registry,
        )
        self.trainer_starts = Counter(
            "reprieve_trainer_starts_total",
            "Trainers that have begun on this node while the daemon ran.",
            registry=registry,
        )
        self.build = Gauge(
            "reprieve_build_info", "1, with the version.", ["version"], registry=registry
        )
        self.flag_written = Gauge(
            "reprieve_flag_written_timestamp_seconds",
            "When the flag file was last written, in Unix seconds; 0 while there is none.",
            registry=registry,
        )

    def tell_version(self) -> None:
        """Show which version this is; reads a file."""
        self.build.labels(version("reprieve")).set(1)
