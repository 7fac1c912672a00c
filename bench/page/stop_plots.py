"""What the page says of the benches of a stop: asking, agreeing, saving, and of the guards."""

from collections.abc import Mapping

from page.reading import Plot
from page.subject import Subject

US = 1e-6


def _stop_check(ranks: int) -> Plot:
    at = f"ranks.{ranks}"
    return Plot(
        title=f"{ranks} ranks on gloo: what asking costs each step",
        ours={"Reprieve": f"{at}.ours.median_us"},
        peers={
            "all_reduce": f"{at}.all_reduce.median_us",
            "broadcast (Lightning's way)": f"{at}.broadcast.median_us",
            "all_gather (Megatron's way)": f"{at}.all_gather.median_us",
            "os.path.exists, agreed by nobody": f"{at}.exists.median_us",
        },
        scale=US,
        target="target.median_us",
    )


def _saved(place: str, figure: str, title: str) -> Plot:
    at = f"places.{place}.*.ways"
    return Plot(
        title=f"{title}, two ranks, on {'a disk' if place == 'disk' else place}",
        ours={"Reprieve, committed": f"{at}.ours.{figure}"},
        peers={
            "dcp.async_save": f"{at}.async_save.{figure}",
            "dcp.async_save, buffers kept": f"{at}.async_save_kept.{figure}",
            "dcp.save": f"{at}.save.{figure}",
            "torch-checkpointing": f"{at}.torch_checkpointing.{figure}",
        },
    )


STOP: Mapping[str, Subject] = {
    "stop_check": Subject(
        "Asking at each step whether to stop",
        "Paid at every step of a run, for a stop that comes now and then. The target is missed "
        "when the median's whole interval is above it. Lightning broadcasts and Megatron "
        "gathers: each of their steps waits for every rank.",
        (_stop_check(4), _stop_check(2)),
    ),
    "agreement": Subject(
        "Agreeing on a step to stop at",
        "From the notice on one rank until the last rank knows the decision, all ranks on one "
        "Store. The target holds for 1,024 ranks.",
        (
            Plot(
                title="Until all ranks know, over one Store",
                ours={"64 ranks": "ranks.64.told_s", "1,024 ranks": "ranks.1024.told_s"},
                peers={},
                target="target.told_s",
            ),
        ),
    ),
    "checkpoint": Subject(
        "What a commit costs over a plain save",
        "Digests, fsync and a commit marker, beside saves that nobody vouches for. Targets, for"
        " the ratio within a round: stall 1.05, durable 1.15, load 1.15 times dcp.async_save's,"
        " judged by the whole interval. torch-checkpointing syncs nothing, so its time until "
        "durable is of the page cache. The small size has few megabytes, where what is paid "
        "once a save weighs most.",
        (
            _saved("disk", "durable_s", "Until it is durable"),
            _saved("disk", "stall_s", "Training waits"),
            _saved("tmpfs", "durable_s", "Until it is durable"),
        ),
    ),
    "guards": Subject(
        "Looking for slow ranks at each step",
        "What the guards add to a step of training, their calls and their looks together.",
        (
            Plot(
                title="4 ranks: added to each step",
                ours={"a step": "ranks.4.a_step", "the stop check beside it": "ranks.4.stop_check"},
                peers={},
                scale=US,
                target="target.median_us",
            ),
        ),
    ),
}
