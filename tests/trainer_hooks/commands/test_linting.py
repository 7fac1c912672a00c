"""``reprieve-trainer lint``: what it prints, and with what code it ends."""

import io
import json
import sys
from pathlib import Path

import pytest

from tests.support.manifests import WIDELY_COPIED, request
from trainer_hooks.cli import run
from trainer_hooks.manifest.render import Form, render

CLEAN = render(Form.JOBSET, request("gke"))


def put(directory: Path, text: str) -> str:
    path = directory / "job.yaml"
    path.write_text(text)
    return str(path)


def test_code_is_0_when_nothing_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And it says so."""
    path = put(tmp_path, CLEAN)
    assert run(["lint", path]) == 0
    assert capsys.readouterr().out == f"{path}: 0 errors, 0 pieces of advice\n"


def test_code_is_1_when_there_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the file, the line and the rule first, as editors read it, and the mend below."""
    path = put(tmp_path, WIDELY_COPIED)
    assert run(["lint", path]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{path}:6: error queue-not-a-label: ")
    assert lines[1] == "    under metadata.labels: kueue.x-k8s.io/queue-name: training"
    assert lines[-1] == f"{path}: 14 errors, 1 pieces of advice"


def test_code_is_0_when_there_is_only_advice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It can be meant."""
    path = put(tmp_path, CLEAN.replace("mountPath: /run/reprieve", "mountPath: /run/other"))
    assert run(["lint", path]) == 0
    assert "advice no-flag" in capsys.readouterr().out


def test_findings_are_objects_when_json_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One for each, with its line as a number."""
    assert run(["lint", put(tmp_path, WIDELY_COPIED), "--json"]) == 1
    findings = json.loads(capsys.readouterr().out)
    assert len(findings) == 15
    assert findings[0].keys() == {"line", "rule", "message", "mend", "weight"}
    assert (findings[0]["line"], findings[0]["weight"]) == (6, "error")


def test_manifest_comes_from_standard_input_when_the_file_is_a_dash(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """So that kubectl's output can be piped in."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CLEAN.encode())))
    assert run(["lint", "-"]) == 0
    assert capsys.readouterr().out.startswith("-: 0 errors")


def test_cloud_and_window_count_when_they_are_given(tmp_path: Path) -> None:
    """The pod does not say which cloud it is on, and nobody else can know of a longer shutdown."""
    path = put(tmp_path, render(Form.JOBSET, request("other", window_s=60)))
    assert [run(["lint", path]), run(["lint", path, "--cloud=gke"])] == [0, 1]
    assert [run(["lint", path, "--window=60"]), run(["lint", path, "--window=59"])] == [0, 1]


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00", b"a: [", b"#" * 600_000])
def test_file_is_refused_when_it_cannot_be_read(
    tmp_path: Path, content: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """With 78 and one line that names it."""
    path = tmp_path / "job.yaml"
    if content is not None:
        path.write_bytes(content)
    assert run(["lint", str(path)]) == 78
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"reprieve-trainer: {path}: ")


def test_terminal_is_spared_when_a_file_has_odd_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is not printable is escaped."""
    odd = CLEAN.replace(
        "values: [75, 76]", 'values: [75, 76]\n                  containerName: "\\e[2J"'
    )
    assert run(["lint", put(tmp_path, odd)]) == 1
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "\\x1b[2J" in printed


def test_extra_is_named_when_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line."""
    for name in [name for name in sys.modules if name.startswith("trainer_hooks.manifest")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "trainer_hooks.commands.linting", raising=False)
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert run(["lint", put(tmp_path, CLEAN)]) == 78
    assert "the extra [lint]" in capsys.readouterr().err
