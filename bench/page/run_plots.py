"""What the page says of the benches of a run: its data, and how often it saves."""

from collections.abc import Mapping

from page.reading import Plot
from page.subject import Subject

MS = 1e-3

RUN: Mapping[str, Subject] = {
    "sampler": Subject(
        "The order of the data",
        "Going anywhere in it, however many samples there are. PyTorch's own sampler lists them "
        "all to begin an epoch.",
        (
            Plot(
                title="To a position, 99th percentile",
                ours={
                    "10^6 samples": "sizes.1000000.seek_ms",
                    "10^12 samples": "sizes.1000000000000.seek_ms",
                },
                peers={"DistributedSampler, 10^6": "peer.sizes.1000000.seek_ms"},
                scale=MS,
                target="target.build_or_seek_ms",
            ),
        ),
    ),
    "plan": Subject(
        "Planning a run",
        "`reprieve-trainer plan` at a terminal: a million GPU-hours, with 10,000 runs at random.",
        (
            Plot(
                title="Until the answer is there",
                ours={"with 10,000 runs": "played_s", "the interval alone": "plan_s"},
                peers={},
                target="target.played_s",
            ),
        ),
    ),
    "auto_interval": Subject(
        "Choosing how often to save",
        "What a run wastes that has chosen its interval itself, over the least of a row of fixed "
        "ones.",
        (
            Plot(
                title="Waste, times the best fixed interval's",
                ours={"save_every=auto": "waste_ratio"},
                peers={},
                unit="times",
                target="target.waste_ratio",
            ),
        ),
    ),
}
