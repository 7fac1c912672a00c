"""What the page says of the benches of the relay."""

from collections.abc import Mapping

from page.reading import Plot
from page.subject import Subject

RELAY: Mapping[str, Subject] = {
    "relay_burst": Subject(
        "A thousand notices in one queue",
        "The relay's whole burst against the common way, one message after the other.",
        (
            Plot(
                title="1,000 messages, to the last one handled",
                ours={"Reprieve": "seconds.ours"},
                peers={"one by one": "seconds.one_by_one"},
                target="target.median_s",
            ),
        ),
    ),
    "relay_nodes": Subject(
        "A thousand notices onto their Nodes",
        "Until every Node has its annotation. The common way has ten workers and five requests a "
        "second.",
        (
            Plot(
                title="1,000 Nodes, to the last one written",
                ours={"Reprieve": "seconds.ours"},
                peers={},
                target="target.median_s",
            ),
            Plot(
                title="Nodes written a second: more is better",
                ours={"Reprieve": "notices_per_s.ours"},
                peers={"five requests a second": "notices_per_s.five_a_s"},
                unit="Nodes/s",
            ),
        ),
    ),
    "relay_takeover": Subject(
        "When the relay is killed",
        "Until the other relay has handled all that the killed one held.",
        (
            Plot(
                title="Takeover",
                ours={"Reprieve": "seconds"},
                peers={},
                target="target.longest_s",
            ),
        ),
    ),
}
