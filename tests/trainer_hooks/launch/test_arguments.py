"""What torchrun can make nothing of is refused before anything is started."""

import re
from pathlib import Path

import pytest

from trainer_hooks.errors import ConfigError
from trainer_hooks.launch import arguments
from trainer_hooks.launch.arguments import ranks_here, understood

OURS = "SIGTERM,SIGINT,SIGHUP,SIGQUIT,SIGUSR1"


@pytest.mark.parametrize("nproc_per_node", ["x", "1.5", "0", "-1"])
def test_launch_is_refused_when_a_number_of_ranks_makes_no_sense(nproc_per_node: str) -> None:
    """As a setting that is wrong, and not as a crash: nobody should start it again in vain."""
    with pytest.raises(ConfigError, match=f"--nproc-per-node={nproc_per_node}(:| starts)"):
        ranks_here(nproc_per_node)


@pytest.mark.parametrize("nnodes", ["x", "1:2:3", "0", "0:1", "2:1", "-1:2"])
def test_launch_is_refused_when_a_number_of_nodes_makes_no_sense(nnodes: str) -> None:
    """Likewise."""
    with pytest.raises(ConfigError, match=f"--nnodes={nnodes}(:| is)"):
        arguments._nodes(nnodes)


@pytest.mark.parametrize("options", [[], ["--no-python"]])
def test_launch_is_refused_when_there_is_no_such_script(tmp_path: Path, options: list[str]) -> None:
    """By its name, before a rank says it in its own words."""
    with pytest.raises(ConfigError, match=r"there is no (script|program) .*absent"):
        understood([*options, str(tmp_path / "absent")])


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ([], "no script is named: reprieve-trainer launch [torchrun's options] SCRIPT ..."),
        (["--nproc-per-node=2"], "no script is named"),
        (["--max-restarts"], ": expected one argument (torchrun --help lists them)"),
    ],
)
def test_launch_says_what_is_wrong_and_no_more_when_arguments_are(
    given: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, and not torchrun's forty of usage, in which nobody finds it."""
    with pytest.raises(ConfigError, match=re.escape(complaint)):
        understood(given)
    assert capsys.readouterr() == ("", "")


def test_launch_is_refused_when_the_program_cannot_be_run(tmp_path: Path) -> None:
    """A script without its x bit, and no Python to read it."""
    (tmp_path / "train").touch(0o644)
    with pytest.raises(ConfigError, match=r"no program .*train"):
        understood(["--no-python", str(tmp_path / "train")])


@pytest.mark.parametrize(
    "options", [["-m", "absent.package"], ["--no-python", "true"], ["tests/conftest.py"]]
)
def test_script_is_left_to_python_when_only_it_can_find_it(options: list[str]) -> None:
    """A module; and what is in PATH, or in the working directory, is there."""
    understood(options)


@pytest.mark.parametrize(
    ("asked", "handled"),
    [
        ([], OURS),
        (["--signals-to-handle=SIGTERM"], OURS),
        (["--signals-to-handle=SIGUSR2, SIGINT"], f"{OURS},SIGUSR2"),
    ],
)
def test_signals_are_added_to_ours_when_a_user_names_some(asked: list[str], handled: str) -> None:
    """Without ours one of them would leave orphans behind."""
    assert understood([*asked, "tests/conftest.py"]).signals_to_handle == handled


def test_launch_is_refused_when_there_is_no_such_signal() -> None:
    """torchrun would go on with a warning."""
    with pytest.raises(ConfigError, match="no signal in 'SIGFOO'"):
        understood(["--signals-to-handle=SIGTERM,SIGFOO", "tests/conftest.py"])
