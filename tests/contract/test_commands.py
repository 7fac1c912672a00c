"""What README, docs/ and deploy/ tell people to type: each is run by a test, or says why not."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ledgers
from tests.support.command_blocks import Block, blocks, blocks_of, pages
from tests.support.image_root import ROOT
from trainer_hooks import cli as trainer
from trainer_hooks.launch.command import split
from watcher import cli as watcher

BLOCKS = list(blocks())
TYPED = [block for block in BLOCKS if block.needs is None and block.run_by is None]
NEEDS = {
    "a cloud",
    "a cluster",
    "a container engine",
    "a machine of its own",  # as root, with systemd
    "an hour",
    "GPUs",
    "several nodes",
    "Slurm",
}


def test_blocks_are_found_on_every_kind_of_page() -> None:
    """Else the next tests would check nothing."""
    found = {block.page.partition("/")[0] for block in BLOCKS}
    assert found >= {"README.md", "CONTRIBUTING.md", "docs", "deploy"}
    assert len(pages()) > 40
    assert TYPED


def test_mark_is_read_when_it_stands_before_a_block() -> None:
    """And belongs to that block alone; what is no command needs none."""
    text = "a\n\n<!-- needs a cloud -->\n    aws s3 ls\n\nb\n\n    make demo\n\nc\n\n    {}\n"
    assert [(block.needs, block.line) for block in blocks_of("p.md", text)] == [
        ("a cloud", 4),
        (None, 8),
    ]
    (block,) = blocks_of(
        "p.md", "<!-- run by x -->\n```sh\nA=1 \\\n  kubectl get a | b $(c d)\n```\n"
    )
    assert (block.run_by, block.commands()) == (
        "x",
        [["A=1", "kubectl", "get", "a"], ["b"], ["c", "d"]],
    )


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_block_says_what_it_needs_or_which_test_runs_it(block: Block) -> None:
    """In one of few words, and by a test that there is. Those that say nothing are run below."""
    assert block.needs is None or block.needs in NEEDS
    if block.run_by is not None:
        file, _, name = block.run_by.partition("::")
        assert re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text(), re.MULTILINE)


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.ours()], ids=str)
def test_our_programs_understand_it_whoever_runs_it(block: Block) -> None:
    """Every option on every page is one that there is, also where a cloud is needed to go on."""
    for program, *words in block.ours():
        if program == "reprieve-watcher":
            watcher._arguments(words)
        else:
            trainer._parser().parse_args(split(words)[0])


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_targets_and_files_are_there_when_a_block_names_them(block: Block) -> None:
    """Targets of make, and what is named by its path from the root."""
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for command in block.commands():
        if command[0] == "make":
            assert command[1] in targets
        for word in command:
            path = word.removeprefix("file://").removeprefix("./")
            if re.match(r"(deploy|docs|examples|requirements|tests)/", path):
                assert (ROOT / path).exists(), path


@pytest.mark.timeout(200)
@pytest.mark.parametrize("block", TYPED, ids=str)
def test_block_succeeds_when_it_is_typed(block: Block, tmp_path: Path) -> None:
    """From the root of a checkout, with a run of three attempts where the pages have one."""
    ledgers.example(tmp_path / "shared" / "run-7")
    text = block.text.replace("/shared/", f"{tmp_path}/shared/")
    for folder in ("deploy", "docs", "examples", "tests"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    typed = subprocess.run(
        ["bash", "-e", "-u", "-o", "pipefail", "-c", text],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert typed.returncode == 0, typed.stderr
