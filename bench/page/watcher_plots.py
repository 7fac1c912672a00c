"""What the page says of the benches of the watcher on a node."""

from collections.abc import Mapping

from page.reading import Plot
from page.subject import Subject


def _flips(name: str) -> Plot:
    return Plot(
        title=f"From the metadata server's word to the act, {name} machine",
        ours={
            "Reprieve, median": f"{name}.ours.median_s",
            "Reprieve, 99th percentile": f"{name}.ours.p99_s",
        },
        peers={
            "hanging GET, nothing else": f"{name}.bare.median_s",
            "a poll each second": f"{name}.poll_1s.median_s",
            "a poll each 5 s": f"{name}.poll_5s.median_s",
        },
        target="target.p99_s",
    )


WATCHER: Mapping[str, Subject] = {
    "detection_aws": Subject(
        "Hearing a Spot notice on EC2",
        "From the notice at the metadata service to the flag that stops a job. The ticking handler "
        "asks every 2 s and acts every 1 s, as the common one does. Besides the median, no single "
        "notice may take longer than 1.05 s.",
        (
            Plot(
                title="From the notice to the act",
                ours={"Reprieve": "ours.median_s", "Reprieve, the longest": "ours.max_s"},
                peers={
                    "ticking, 2 s and 1 s": "ticking.median_s",
                    "ticking, the longest": "ticking.max_s",
                },
                target="target.median_s",
            ),
        ),
    ),
    "detection_gcp": Subject(
        "Hearing a preemption on Compute Engine",
        "The target is the 99th percentile's, idle and busy. A hanging GET that does nothing but "
        "write a file shows what the machine itself takes.",
        (_flips("idle"), _flips("busy")),
    ),
    "reaction_k8s": Subject(
        "Marking the node in Kubernetes",
        "From the bytes of a notice to the flag, and to the taint that the API server has "
        "accepted. The targets are the 99th percentile's. The peer is a handler that runs kubectl.",
        (
            Plot(
                title="To the flag, idle machine",
                ours={"median": "idle.flag.median_s", "99th percentile": "idle.flag.p99_s"},
                peers={"writing the file, nothing else": "idle.bare_flag.median_s"},
                target="target.flag_p99_s",
            ),
            Plot(
                title="To the taint, idle machine",
                ours={"median": "idle.taint.median_s", "99th percentile": "idle.taint.p99_s"},
                peers={
                    "one PATCH, nothing else": "idle.bare_taint.median_s",
                    "kubectl taint": "kubectl.median_s",
                },
                target="target.taint_p99_s",
            ),
        ),
    ),
    "recovery_aws": Subject(
        "Hearing it late, because the service was away",
        "From the moment that service or daemon is back to the flag. Each case has a target of its "
        "own: 1.1 s after silence, one step of the back-off (5.1 s) after 503 and 429.",
        (
            Plot(
                title="Once it answers again",
                ours={
                    name: f"ours_s.{name}"
                    for name in ("hang", "reset", "gone", "503", "429", "killed", "stopped")
                },
                peers={},
            ),
        ),
    ),
    "footprint": Subject(
        "What the daemon takes of a node",
        "Resident memory, and the share of one core while nothing happens.",
        (
            Plot(
                title="Memory, metadata and Kubernetes",
                ours={"idle": "idle.rss_mb", "the most over the polls": "polls.max_rss_mb"},
                peers={},
                unit="MB",
                target="target.rss_mb",
            ),
            Plot(
                title="Memory with a queue",
                ours={"idle": "queue.rss_mb"},
                peers={},
                unit="MB",
                target="target.queue_rss_mb",
            ),
            Plot(
                title="Share of one core, idle",
                ours={"Reprieve": "idle.core_share"},
                peers={},
                unit="%",
                scale=100.0,
                target="target.core_share",
            ),
        ),
    ),
}
