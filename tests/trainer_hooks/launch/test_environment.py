"""What ranks are given beside torchrun's own."""

import pytest

from trainer_hooks.errors import ConfigError
from trainer_hooks.launch.environment import TIMEOUT_VARIABLE, set_environment
from trainer_hooks.launched import GRACE_VARIABLE


@pytest.mark.parametrize(
    ("said", "timeout", "grace"),
    [
        ((None, None, None), "115", None),
        ((90.0, None, None), "85", "85"),
        ((3.0, None, None), "1", "1"),
        ((None, 40, None), "115", "40"),
        ((90.0, 40, None), "85", "40"),
        ((30.0, 40, None), "25", "25"),
        ((None, None, "50"), "50", "50"),
        ((90.0, None, "50"), "50", "50"),
        ((90.0, 40, "50"), "50", "40"),
    ],
)
def test_ranks_are_told_their_grace_when_somebody_knows_it(
    monkeypatch: pytest.MonkeyPatch,
    said: tuple[float | None, int | None, str | None],
    timeout: str,
    grace: str | None,
) -> None:
    """By our option, torchrun's option or its variable; the shortest is when they end."""
    window_s, option_s, variable = said
    environ = {} if variable is None else {TIMEOUT_VARIABLE: variable}
    monkeypatch.setattr("os.environ", environ)
    set_environment(window_s, option_s)
    assert environ[TIMEOUT_VARIABLE] == timeout
    assert environ.get(GRACE_VARIABLE) == grace


def test_launch_is_refused_when_torchruns_variable_is_no_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By name, and not as a traceback of torchrun's."""
    monkeypatch.setenv(TIMEOUT_VARIABLE, "soon")
    monkeypatch.setenv("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1")
    with pytest.raises(ConfigError, match="counts whole seconds, not 'soon'"):
        set_environment(None, None)
