"""What ranks publish in a round, made up."""

from hypothesis import strategies as st

from trainer_hooks.at_stop import Figures
from trainer_hooks.decision import Position, Published

SECONDS = st.floats(0, 1e5)
LEFT_S = st.none() | st.floats(0, 1e6)
FIGURES = st.builds(
    Figures,
    step_s=SECONDS,
    until=st.none() | st.integers(0, 60),
    saves_s=st.lists(SECONDS, max_size=8).map(tuple),
    in_flight_s=st.none() | SECONDS,
)
RECORDS = st.lists(
    st.builds(
        Published,
        rank=st.integers(0, 1023),
        position=st.builds(Position, st.integers(-2, 50), st.integers(0, 3)),
        notice_id=st.none() | st.text(),
        is_stop=st.booleans(),
        is_drill=st.booleans(),
        left_s=LEFT_S,
        assumed_s=st.floats(0, 600),
        figures=st.none() | FIGURES,
    ),
    min_size=1,
    max_size=8,
)


def figures(
    *,
    step_s: float = 1.0,
    until: int | None = None,
    saves_s: tuple[float, ...] = (1.0, 1.0, 1.0),
    in_flight_s: float | None = None,
) -> Figures:
    """Return what a rank has measured whose steps and saves take a second."""
    return Figures(step_s=step_s, until=until, saves_s=saves_s, in_flight_s=in_flight_s)


def published(
    step: int,
    *,
    stop: str | None = None,
    advice: str | None = None,
    left_s: float | None = None,
    measured: Figures | None = None,
) -> Published:
    """Return what a rank at ``step`` says."""
    return Published(
        rank=0,
        position=Position(step),
        notice_id=stop or advice,
        is_stop=bool(stop),
        left_s=left_s,
        figures=measured,
    )
