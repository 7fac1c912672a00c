"""What torchrun raises, as values."""

import pytest

from trainer_hooks.errors import ConfigError
from trainer_hooks.launch import arguments, torchrun_end
from trainer_hooks.launch.torchrun_end import run_torchrun


def raising(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Let torchrun raise an error."""

    def run(_: object) -> None:
        raise error

    monkeypatch.setattr(arguments.TORCHRUN, "run", run)


@pytest.mark.parametrize("error", torchrun_end._REFUSALS)
def test_set_up_is_wrong_when_torchrun_refuses_to_begin(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    """A port beyond 65535, say: it would be refused on any node."""
    raising(monkeypatch, error("what"))
    with pytest.raises(ConfigError, match=f"does not begin with these arguments: {error.__name__}"):
        run_torchrun(None, lambda: False)


def test_error_is_a_bug_when_ranks_had_been_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows what it is."""
    raising(monkeypatch, ValueError("what"))
    with pytest.raises(ValueError, match="what"):
        run_torchrun(None, lambda: True)


def test_error_is_a_bug_when_no_option_can_be_its_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is short of something may have it later."""
    raising(monkeypatch, OSError(24, "Too many open files"))
    with pytest.raises(OSError, match="Too many"):
        run_torchrun(None, lambda: False)
