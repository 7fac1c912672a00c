"""The scheduled load test: valid, and its command does what its Jobs are judged by."""

import copy
import time
from pathlib import Path
from typing import Any, cast

import kubernetes_validate  # type: ignore[import-untyped]  # its stubs would be one more dependency
import pytest
import yaml  # type: ignore[import-untyped]  # likewise

from tests.support.kustomized import DEPLOY, Manifest, check
from tests.support.trained import saved
from tests.support.training import Run
from trainer_hooks import cli
from trainer_hooks.checkpoint.verified import Verified

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")

ALERT_AFTER_S = 86400
"""Of ReprieveCheckpointsUnverified."""


@pytest.fixture
def cron() -> Manifest:
    """Return the CronJob."""
    path = DEPLOY / "checkpoints" / "cronjob.yaml"
    return cast("Manifest", yaml.safe_load(path.read_text()))


def pod(cron: Manifest) -> Any:  # noqa: ANN401 - as deep as it goes
    return cron["spec"]["jobTemplate"]["spec"]["template"]["spec"]


def judged(cron: Manifest, exit_code: int) -> str:
    """Return what the Job's failure policy does about an exit code, as its documentation has it."""
    for rule in cron["spec"]["jobTemplate"]["spec"]["podFailurePolicy"]["rules"]:
        if exit_code in rule.get("onExitCodes", {}).get("values", ()):
            return str(rule["action"])
    return "Count"


def run(cron: Manifest, checkpoints: Path) -> int:
    """Run the command of the pod on a directory."""
    (container,) = pod(cron)["containers"]
    program, *arguments, directory = container["command"]
    (mount,) = [one for one in container["volumeMounts"] if one["name"] == "checkpoints"]
    assert program == "reprieve-trainer"
    assert directory.startswith(f"{mount['mountPath']}/")
    return cli.run([*arguments, str(checkpoints)])


def test_manifest_is_valid_when_it_is_held_against_its_schema(cron: Manifest) -> None:
    """Field by field; one that is misspelt anywhere is refused."""
    check(cron)
    for path in ((), ("jobTemplate", "spec"), ("jobTemplate", "spec", "template", "spec")):
        odd = copy.deepcopy(cron)
        place = odd["spec"]
        for key in path:
            place = place[key]
        place["misspelt"] = 1
        with pytest.raises(kubernetes_validate.ValidationError, match="misspelt"):
            check(odd)


def test_job_is_done_when_the_newest_checkpoint_is_good(cron: Manifest, tmp_path: Path) -> None:
    """And the training job learns of it; a damaged older one is no business of it."""
    older = saved(tmp_path, Run()).path
    saved(tmp_path, Run())
    assert isinstance(older, Path)
    (older / "COMMIT").write_bytes(b"{}")
    before = time.time()
    assert run(cron, tmp_path) == 0
    verified = Verified(tmp_path)
    verified.look()
    assert verified.at is not None
    assert verified.at >= int(before)


def test_job_fails_at_once_when_the_newest_checkpoint_is_damaged(
    cron: Manifest, tmp_path: Path
) -> None:
    """In one bit; or none is there, or the path is wrong: to run it again would help nothing."""
    saved(tmp_path, Run())
    newest = saved(tmp_path, Run()).path / "__0_0.distcp"
    assert isinstance(newest, Path)
    data = bytearray(newest.read_bytes())
    data[len(data) // 2] ^= 1
    newest.write_bytes(data)
    (tmp_path / "empty").mkdir()
    codes = [run(cron, tmp_path), run(cron, tmp_path / "empty"), run(cron, tmp_path / "none")]
    assert codes == [1, 1, 78]
    assert [judged(cron, code) for code in codes] == ["FailJob"] * 3


def test_pod_starts_over_when_it_was_no_fault_of_its_own(cron: Manifest) -> None:
    """An eviction is not counted, a crash is; the kubelet itself starts nothing again."""
    rules = cron["spec"]["jobTemplate"]["spec"]["podFailurePolicy"]["rules"]
    assert rules[0]["action"] == "Ignore"
    assert rules[0]["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]
    assert judged(cron, 137) == "Count"
    assert pod(cron)["restartPolicy"] == "Never"


def test_verdict_can_be_noted_when_the_root_is_read_only(cron: Manifest) -> None:
    """Beside the checkpoints: a volume that is mounted read-only would keep it from the job."""
    (container,) = pod(cron)["containers"]
    volumes = {one["name"] for one in pod(cron)["volumes"]}
    assert {one["name"] for one in container["volumeMounts"]} == volumes
    assert not any(one.get("readOnly") for one in container["volumeMounts"])


def test_several_runs_are_due_when_the_alert_waits(cron: Manifest) -> None:
    """One that fails is no alert yet; a run ends before the next begins."""
    minute, hours, *days = cron["spec"]["schedule"].split()
    assert (minute.isdigit(), days) == (True, ["*", "*", "*"])
    every_s = 3600 * int(hours.removeprefix("*/"))
    assert 3 * every_s < ALERT_AFTER_S
    assert cron["spec"]["jobTemplate"]["spec"]["activeDeadlineSeconds"] < every_s
    rules = (DEPLOY / "monitoring" / "rules.yaml").read_text()
    alert = rules[rules.index("ReprieveCheckpointsUnverified") :]
    assert f"> {ALERT_AFTER_S}" in alert
