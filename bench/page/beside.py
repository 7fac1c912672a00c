"""One chart of how many times ours others take: the picture in the README."""

from collections.abc import Sequence

from page.chart import Chart, Row
from page.reading import at, spread
from page.stored import Stored

RATIOS = (
    ("all_gather each step (Megatron's way)", "agreement", "a_step.all_gather.times_ours", None),
    ("broadcast each step (Lightning's way)", "agreement", "a_step.broadcast.times_ours", None),
    (
        "Compute Engine, a poll each 5 s",
        "detection_gcp",
        "idle.poll_5s.median_s",
        "idle.ours.median_s",
    ),
    ("taint, by kubectl", "reaction_k8s", "kubectl_times_our_taint", None),
    ("Spot notice, ticking 2 s and 1 s", "detection_aws", "ticking_times_ours", None),
    ("1,000 messages, one by one", "relay_burst", "times_ours.one_by_one", None),
    (
        "torch-checkpointing, on a disk",
        "checkpoint",
        "places.disk.*.ways.torch_checkpointing.durable_s",
        "places.disk.*.ways.ours.durable_s",
    ),
    (
        "dcp.async_save, on a disk",
        "checkpoint",
        "places.disk.*.ways.async_save.durable_s",
        "places.disk.*.ways.ours.durable_s",
    ),
)
"""Name, bench, and the path of a ratio; or of a peer's figure and of ours."""


def beside(done: Sequence[Stored]) -> Chart | None:
    """Return the chart of those ratios that were measured; None where none was."""
    results = {one.bench: one.result for one in done if one.result is not None}
    rows = []
    for name, bench, path, our_path in RATIOS:
        found = at(results.get(bench, {}), path)
        if found is None:
            continue
        low, middle, high = spread(found, f"{bench}: {path}")
        ours = 1.0
        if our_path is not None:
            ours = spread(at(results[bench], our_path), f"{bench}: {our_path}")[1]
        rows.append(Row(name, middle / ours, low / ours, high / ours, is_ours=False))
    if not rows:
        return None
    return Chart(
        title="How many times as long as Reprieve others take, in the same run",
        unit="times",
        rows=tuple(rows),
        target=1.0,
        target_label="Reprieve",
    )
