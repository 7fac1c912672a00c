"""The unit, its user and its run directory fit each other, and systemd understands them."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from trainer_hooks.launch.exit_codes import (
    EXIT_CONFIG,
    EXIT_CRASH_LOOP,
    EXIT_PEER_LOST,
    EXIT_PREEMPTED,
)
from watcher.cli import _parser
from watcher.config import Config
from watcher.settings import load

FILES = Path(__file__).parents[2] / "deploy" / "systemd"
UNIT = FILES / "reprieve-watcher.service"


def unit() -> dict[str, list[str]]:
    """Return the unit's values by key; a key may be given several times."""
    values: dict[str, list[str]] = {}
    for line in UNIT.read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            values.setdefault(key, []).append(value)
    return values


def table(name: str) -> list[list[str]]:
    """Return the lines of a sysusers.d or tmpfiles.d file as words."""
    lines = (FILES / name).read_text().splitlines()
    return [line.split() for line in lines if line and not line.startswith("#")]


@pytest.mark.e2e
def test_systemd_understands_the_unit_when_it_verifies_it(tmp_path: Path) -> None:
    """No unknown key, no value that is ignored: systemd-analyze has nothing to say."""
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("this machine has no systemd-analyze")
    [command] = unit()["ExecStart"]
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace(command.split()[0], sys.executable))
    verified = subprocess.run(
        [analyze, "verify", str(copy)], capture_output=True, text=True, check=False
    )
    complaints = [line for line in verified.stderr.splitlines() if UNIT.stem in line]
    assert (verified.returncode, complaints) == (0, [])


@pytest.mark.e2e
@pytest.mark.parametrize("drop_in", [None, "root.conf"])
def test_exposure_is_at_most_1_5_when_systemd_rates_the_unit(
    tmp_path: Path, drop_in: str | None
) -> None:
    """What is left is the network, and the right to signal; root costs a little more."""
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("this machine has no systemd-analyze")
    folder = tmp_path / "etc/systemd/system"
    folder.mkdir(parents=True)
    shutil.copy(UNIT, folder)
    if drop_in is not None:
        (folder / f"{UNIT.name}.d").mkdir()
        shutil.copy(FILES / f"{UNIT.name}.d" / drop_in, folder / f"{UNIT.name}.d")
    limit = 15 if drop_in is None else 20
    asked = ("security", "--offline=yes", "--no-pager", f"--root={tmp_path}")
    rated = subprocess.run(
        [analyze, *asked, f"--threshold={limit}", UNIT.name],
        capture_output=True,
        text=True,
        check=False,
    )
    assert rated.returncode == 0, rated.stdout[-400:] + rated.stderr
    assert "Overall exposure level" in rated.stdout


def test_daemon_that_hangs_is_killed_when_it_gives_no_sign_of_life() -> None:
    """By a signal that a stopped process acts on too."""
    values = unit()
    assert values["WatchdogSignal"] == ["SIGKILL"]
    assert int(values["WatchdogSec"][0]) >= 10  # a starved machine is no reason to kill it


@pytest.mark.parametrize("name", ["trainers", "requests"])
def test_place_is_the_same_when_mounted_or_made(name: str) -> None:
    """Mode and owner of the file system are those that tmpfiles.d gives to the directory."""
    text = (FILES / f"run-reprieve-{name}.mount").read_text()
    [made] = [line for line in table("tmpfiles.conf") if line[1].endswith(f"/{name}")]
    assert f"Where={made[1]}\n" in text
    assert f"Options=mode={made[2]},uid={made[3]},gid={made[4]},size=4m," in text


def test_unit_tries_again_for_ever_when_the_daemon_ends() -> None:
    """Except after 78, a mistake that trying again won't mend."""
    values = unit()
    assert values["Type"] == ["notify"]
    assert values["Restart"] == ["always"]
    assert values["StartLimitIntervalSec"] == ["0"]
    assert values["RestartPreventExitStatus"] == ["78"]


def test_slice_keeps_as_much_memory_as_the_unit_asks_for() -> None:
    """The kernel gives a unit no more than its slice has."""
    lines = (FILES / "system.slice.d" / "reprieve.conf").read_text().splitlines()
    assert f"MemoryLow={unit()['MemoryLow'][0]}" in lines
    assert "Slice" not in unit()  # it is in system.slice, as every service by default


def test_unit_leaves_the_run_directory_in_place_when_restarted() -> None:
    """RuntimeDirectory= would empty it, and leave every bind mount of it dead.

    What it makes here is for root's socket, and nobody mounts it.
    """
    values = unit()
    assert values["RuntimeDirectory"] == ["reprieve-control"]
    assert values["RuntimeDirectoryMode"] == ["0700"]
    assert values["ProtectSystem"] == ["strict"]
    assert values["ReadWritePaths"] == [str(Config().run_dir)]


def test_unit_keeps_what_the_daemon_needs_when_hardened() -> None:
    """The boot id, the right to signal other users, and the socket to say READY on."""
    values = unit()
    assert not {"ProcSubset", "PrivateUsers", "PrivateNetwork", "DynamicUser"} & values.keys()
    assert values["AmbientCapabilities"] == values["CapabilityBoundingSet"] == ["CAP_KILL"]
    assert values["NoNewPrivileges"] == ["yes"]
    assert set(values["RestrictAddressFamilies"][0].split()) == {"AF_INET", "AF_INET6", "AF_UNIX"}


def test_run_directory_belongs_to_the_units_user_when_made() -> None:
    """One user in three files; only the daemon writes the flag, everybody may leave a report."""
    [[_, user, *_], _trainers] = table("sysusers.conf")
    assert unit()["User"] == unit()["Group"] == [user]
    run_dir = str(Config().run_dir)
    assert table("tmpfiles.conf") == [
        ["d", run_dir, "0755", user, user, "-"],
        ["d", f"{run_dir}/trainers", "1777", user, user, "-"],
        ["d", f"{run_dir}/requests", "1777", user, user, "-"],
    ]


def test_trainer_template_starts_again_what_launch_says_may_start_again() -> None:
    """The exit codes are launch's, the user sysusers.d's, and the window systemd's own limit."""
    text = (FILES / "reprieve-trainer@.service").read_text()
    lines = set(text.splitlines())
    assert f"RestartForceExitStatus={EXIT_PREEMPTED} {EXIT_PEER_LOST}" in lines
    assert f"SuccessExitStatus={EXIT_PREEMPTED}" in lines
    assert f"RestartPreventExitStatus={EXIT_CONFIG} {EXIT_CRASH_LOOP}" in lines
    assert {"StartLimitIntervalSec=0", "RestartSec=5", "KillMode=mixed"} <= lines
    [window] = re.findall(r"--window (\d+) ", text)
    assert f"TimeoutStopSec={window}" in lines
    _watcher, [_, user, *_] = table("sysusers.conf")
    assert f"User={user}" in lines


@pytest.mark.parametrize("script", ["install.sh", "uninstall.sh"])
def test_scripts_know_every_unit_when_they_install_and_remove(script: str) -> None:
    """A unit that is added to the folder is installed, and does not stay behind."""
    text = (FILES / script).read_text()
    units = [path.name for path in FILES.glob("reprieve-*.service")]
    units += [path.name for path in FILES.glob("*.mount")]
    assert len(units) == 4
    assert all(name in text for name in (*units, "system.slice.d/reprieve.conf"))
    subprocess.run(["sh", "-n", FILES / script], check=True)


def test_config_is_accepted_and_says_what_is_the_default_anyway() -> None:
    """The example changes nothing by itself, so that nobody depends on having copied it."""
    effective = load(FILES / "watcher.toml", {}, {"node": "n"})
    assert effective.config == Config(node="n")
    assert "faces.listen" in effective.origins


def test_command_is_the_daemons_when_parsed() -> None:
    """Every argument is one of `reprieve-watcher run`, and the README installs what they name."""
    [command] = unit()["ExecStart"]
    program, *words = command.split()
    arguments = _parser().parse_args(words)
    assert arguments.command == "run"
    readme = (FILES / "README.md").read_text()
    assert f"watcher.toml {arguments.config}" in readme
    assert f"python3 -m venv {Path(program).parents[1]}" in readme


def test_readme_names_every_file_when_installing() -> None:
    """A file that the README does not mention is not installed."""
    readme = (FILES / "README.md").read_text()
    files = {path.relative_to(FILES) for path in FILES.rglob("*") if path.is_file()}
    scripts = {path for path in files if path.suffix == ".sh"}
    assert all(path.name in readme for path in scripts)
    for path in files - scripts - {Path("README.md")}:
        assert f"install -m 0644 -D {path} " in readme
