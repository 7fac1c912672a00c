"""Parts of a restart that a process cannot see, told by whoever starts it.

Before a process there is: the scheduler has noticed, waited for capacity, provisioned a node and
pulled an image. Nobody in the job knows when. A script that does, or an operator, says so in the
environment, in seconds of Unix time::

    REPRIEVE_RESTART_PARTS=waiting=1796031600:1796031900,pull=1796031900:1796031960
"""

import logging
import math
from collections.abc import Iterator

from trainer_hooks.untrusted import shortened
from trainer_hooks.waste.records import Part, Spent

log = logging.getLogger(__name__)

VARIABLE = "REPRIEVE_RESTART_PARTS"

TOLD = (Part.DETECT, Part.PROVISION, Part.PULL, Part.SCHEDULE, Part.WAITING)
"""The rest is measured."""

_LIMIT_CHARS = 4096


def told_parts(text: str, until: float) -> tuple[Spent, ...]:
    """Return the parts that were told, cut off where the process began.

    What makes no sense is left out, with a warning: it is no reason not to train.

    Args:
        text: Of the variable.
        until: When the process began, in seconds of Unix time.
    """
    return tuple(_told(text[:_LIMIT_CHARS], until))


def _told(text: str, until: float) -> Iterator[Spent]:
    for one in filter(None, (one.strip() for one in text.split(","))):
        name, _, instants = one.partition("=")
        first, _, last = instants.partition(":")
        try:
            began, ended = float(first), float(last)
        except ValueError:
            began = ended = math.nan
        if name not in TOLD or not 0 <= began <= ended < math.inf:
            log.warning(
                "%s: %s is no part, such as pull=1796031900:1796031960 (%s); it is left out",
                VARIABLE,
                shortened(one, 60),
                ", ".join(TOLD),
            )
        elif began < until:
            yield Spent(part=Part(name), began=began, ended=min(ended, until))
