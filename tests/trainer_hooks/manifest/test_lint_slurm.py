"""Lint of batch scripts: ours is clean, and each defect that is put into it is named."""

import pytest

from tests.support.manifests import request
from trainer_hooks.manifest.lint import lint
from trainer_hooks.manifest.render import Form, render

OURS = render(Form.SLURM, request("other", window_s=120))


def test_batch_script_is_clean_when_it_is_ours() -> None:
    """As deploy/slurm has it."""
    assert lint(OURS) == []


@pytest.mark.parametrize(
    ("rule", "old", "new"),
    [
        ("no-requeue", "#SBATCH --requeue\n", ""),
        ("no-requeue", "#SBATCH --requeue\n", "#SBATCH --no-requeue\n"),
        ("exit-code-not-requeued", "scontrol requeue", "scontrol show job"),
        ("output-overwritten", "#SBATCH --open-mode=append\n", ""),
        ("no-signal", "#SBATCH --signal=TERM@120\n", ""),
        ("signal-lost", "--signal=TERM@120", "--signal=B:HUP@120"),
        ("window-too-long", "--signal=TERM@120", "--signal=TERM@60"),
        ("window-too-long", "--signal=TERM@120", "--signal=TERM"),
        ("peers-killed", "--kill-on-bad-exit=0", "--kill-on-bad-exit"),
        ("peers-killed", "--kill-on-bad-exit=0", "--kill-on-bad-exit=1"),
        ("torchrun-exit-code", "reprieve-trainer launch --window=120", "torchrun"),
        ("torchrun-kills-early", "reprieve-trainer launch", "torchrun"),
        ("exit-code-lost", 'exit "$code"', "exit 0"),
    ],
)
def test_defect_is_named_when_it_is_there(rule: str, old: str, new: str) -> None:
    """One thing changed, and its rule speaks up."""
    assert old in OURS
    assert rule in {finding.rule for finding in lint(OURS.replace(old, new, 1))}


def test_signal_to_the_batch_script_is_fine_when_it_is_trapped() -> None:
    """The script hands it on."""
    assert lint(OURS.replace("--signal=TERM@120", "--signal=B:TERM@120")) == []


@pytest.mark.parametrize(
    "text",
    [
        "#!/bin/sh\n#SBATCH -J a\n" + "srun a " * 60_000,
        "#!/bin/sh\n" + "#SBATCH --signal=B:A@1\n" * 15_000 + "trap a " * 20_000,
        "#!/bin/sh\n#SBATCH\n" + "\n" * 400_000,
        "#!/bin/sh\n#SBATCH\ntorchrun a\ntrap 'exit" + " " * 400_000 + "x",
        "#!/bin/sh\n#SBATCH\ntorchrun a\ntrap 'exit' " + " " * 400_000 + "x",
        (
            f"#!/bin/sh\n#SBATCH --signal=TERM@{'9' * 5000}\n"
            f"reprieve-trainer launch --window={'9' * 5000}"
        ),
    ],
)
def test_long_script_is_read_when_it_was_made_to_take_long(text: str) -> None:
    """Each of its lines is looked at once; searched as a whole, some took minutes."""
    assert lint(text)


def test_line_is_the_options_when_the_option_is_wrong() -> None:
    """And the launcher's where that is."""
    odd = OURS.replace("TERM@120", "TERM@60").replace("bad-exit=0", "bad-exit=1")
    found = {finding.rule: finding.line for finding in lint(odd)}
    lines = odd.splitlines()
    assert lines[found["window-too-long"] - 1] == "#SBATCH --signal=TERM@60"
    assert "reprieve-trainer launch" in lines[found["peers-killed"] - 1]
