"""Each defect that is put into a clean manifest is named."""

import re
from pathlib import Path

import pytest

from tests.support.manifests import request
from trainer_hooks.manifest.lint import lint
from trainer_hooks.manifest.render import Form, render

ROOT = Path(__file__).parents[3]

JOBSET = render(Form.JOBSET, request("gke"))
JOB = render(Form.JOB, request("gke"))
QUEUED = render(Form.JOBSET, request("eks", queue="training"))
CLUSTER = render(Form.CLUSTER, request("eks"))

WORDS = "                    - "
"""How a word of the JobSet's command stands."""

FIRST_WORDS = f"{WORDS}reprieve-trainer\n{WORDS}launch\n"


def shell(script: str) -> str:
    """Return the JobSet with a shell around its launcher."""
    head, _, rest = JOBSET.partition(FIRST_WORDS)
    words, _, tail = rest.partition("                  resources:")
    launcher = " ".join(word.strip().removeprefix("- ").strip('"') for word in words.splitlines())
    line = script.replace("LAUNCH", f"reprieve-trainer launch {launcher}")
    block = "".join(f"{' ' * 24}{one}\n" for one in line.splitlines())
    return f"{head}{WORDS}sh\n{WORDS}-c\n{WORDS}|\n{block}                  resources:{tail}"


DEFECTS = [
    # rule, manifest, what is put in the place of what
    ("restart-policy", JOBSET, "restartPolicy: Never", "restartPolicy: OnFailure"),
    ("restart-policy", JOBSET, "restartPolicy: Never\n", "dnsPolicy: Default\n"),
    ("no-pod-failure-policy", JOB, "podFailurePolicy:", "podFailurePolicy_:"),
    (
        "crash-not-counted",
        JOBSET,
        "operator: In\n                  values: [75, 76]",
        "operator: NotIn\n                  values: [78, 79]",
    ),
    ("preemption-counted", JOB, "values: [75, 76]", "values: [76]"),
    ("preemption-counted", JOBSET, "type: DisruptionTarget", "type: Ready"),
    ("preemption-final", JOB, "action: Ignore", "action: FailJob"),
    ("preemption-final", JOBSET, "action: RestartJobSetAndIgnoreMaxRestarts", "action: FailJobSet"),
    ("useless-restart", JOBSET, "78, 79", "75, 76"),
    ("crash-final", JOBSET, "maxRestarts: 5", "maxRestarts: 0"),
    ("endless-restart", JOBSET, "exit code 7[89] matching", "exit code 7[0-4] matching"),
    ("useless-restart", JOB, "values: [78, 79]", "values: [77]"),
    ("rule-without-cause", JOB, "onExitCodes:", "onExitCodes_:"),
    ("exit-code-0", JOB, "values: [75, 76]", "values: [0, 75, 76]"),
    ("exit-code-143", JOB, "values: [75, 76]", "values: [75, 76, 143]"),
    ("rule-for-nobody", JOB, "operator: In", "containerName: main\n          operator: In"),
    (
        "pod-replacement",
        JOB,
        "completionMode:",
        "podReplacementPolicy: TerminatingOrFailed\n  completionMode:",
    ),
    ("no-failure-policy", JOBSET, "failurePolicy:", "failurePolicy_:"),
    ("backoff-limit", JOBSET, "backoffLimit: 0", "backoffLimit: 3"),
    ("backoff-limit", JOBSET, "backoffLimit: 0", "completionMode_: Indexed"),
    (
        "grace-too-long",
        JOBSET,
        "terminationGracePeriodSeconds: 15",
        "terminationGracePeriodSeconds: 120",
    ),
    ("grace-too-long", JOBSET, "terminationGracePeriodSeconds: 15", "priority: 0"),
    (
        "grace-too-short",
        render(Form.JOB, request("eks")),
        "terminationGracePeriodSeconds: 115",
        "priority: 0",
    ),
    ("mixed-clouds", JOBSET, "cloud.google.com/gke-spot:", "eks.amazonaws.com/capacityType:"),
    ("no-spot-selector", JOBSET, "nodeSelector:", "nodeSelector_:"),
    (
        "selector-in-queue",
        QUEUED,
        "containers:",
        "nodeSelector: {karpenter.sh/capacity-type: spot}\n              containers:",
    ),
    ("tolerates-the-end", JOBSET, "key: cloud.google.com/gke-spot\n", "key_: x\n"),
    (
        "tolerates-the-end",
        JOBSET,
        "key: cloud.google.com/gke-spot\n",
        "key: reprieve.dev/reclaim\n",
    ),
    ("no-gpu", JOBSET, "nvidia.com/gpu:", "cpu:"),
    ("no-gpu", JOBSET, "limits:", "requests:"),
    ("no-checkpoint-volume", JOBSET, "persistentVolumeClaim:", "emptyDir_:"),
    ("no-checkpoint-volume", JOBSET, "mountPath: /checkpoints", "mountPath: /elsewhere"),
    ("no-checkpoint-volume", JOBSET, '"/checkpoints/run-7"', "file:///scratch/run-7"),
    (
        "flag-not-a-directory",
        JOBSET,
        "mountPath: /run/reprieve",
        "subPath: a\n                      mountPath: /run/reprieve",
    ),
    (
        "flag-not-a-directory",
        JOBSET,
        "mountPath: /run/reprieve",
        "mountPath: /run/reprieve/notice.json",
    ),
    ("no-status", JOBSET, "name: REPRIEVE_POD_UID", "name: POD_UID"),
    ("no-status", JOBSET, "mountPath: /run/reprieve/trainers", "mountPath: /run/trainers"),
    ("no-flag", JOBSET, "mountPath: /run/reprieve", "mountPath: /run/other"),
    (
        "pre-stop-kill",
        JOBSET,
        "image:",
        "lifecycle: {preStop: {exec: {command: [sh, -c, pkill python]}}}\n                  image:",
    ),
    ("literal-variable", JOBSET, "$(JOB_COMPLETION_INDEX)", "$(JOBSET_NAME)"),
    ("literal-variable", JOB, "completionMode: Indexed", "completionMode: NonIndexed"),
    ("torchrun-exit-code", JOBSET, FIRST_WORDS, f"{WORDS}torchrun\n"),
    (
        "torchrun-exit-code",
        JOBSET,
        FIRST_WORDS,
        f"{WORDS}python\n{WORDS}-m\n{WORDS}torch.distributed.run\n",
    ),
    (
        "torchrun-kills-early",
        render(Form.JOBSET, request("eks")),
        FIRST_WORDS,
        f"{WORDS}torchrun\n",
    ),
    (
        "restart-on-the-dying-node",
        JOBSET,
        FIRST_WORDS,
        f"{WORDS}torchrun\n{WORDS}--max-restarts=3\n",
    ),
    ("no-window", JOBSET, "--window=15", "--log-dir=/tmp"),
    ("window-too-long", JOBSET, "--window=15", "--window=60"),
    ("nodes-differ", JOBSET, "--nnodes=4", "--nnodes=8"),
    ("no-rendezvous-id", JOBSET, "--master-addr=", "--rdzv-endpoint="),
    ("no-node-rank", JOBSET, "--node-rank=", "--role="),
    ("no-headless-service", JOB, "subdomain:", "hostname:"),
    ("duplicate-key", JOBSET, "replicas: 1", "replicas: 1\n      replicas: 2"),
    ("queue-not-a-label", QUEUED, "  labels:", "  annotations:"),
    ("kueue-version", CLUSTER, "v1beta2", "v1beta1"),
    ("kueue-old-word", CLUSTER, "whenCanPreempt: TryNextFlavor", "whenCanPreempt: Preempt"),
    ("kueue-old-word", CLUSTER, "namespaceSelector: {}", "cohort: all"),
    (
        "kueue-borrowing",
        CLUSTER,
        "nominalQuota: 32",
        "borrowingLimit: 8\n              nominalQuota: 32",
    ),
]


@pytest.mark.parametrize(("rule", "manifest", "old", "new"), DEFECTS)
def test_defect_is_named_with_its_line_when_it_is_there(
    rule: str, manifest: str, old: str, new: str
) -> None:
    """One thing changed, and its rule speaks up, on a line of the file and with a mend."""
    assert lint(manifest) == []
    assert old in manifest
    found = [finding for finding in lint(manifest.replace(old, new, 1)) if finding.rule == rule]
    assert found
    assert all(1 <= one.line <= manifest.count("\n") + 2 for one in found)
    assert all(one.mend for one in found)


@pytest.mark.parametrize(
    ("rule", "script"),
    [
        ("exit-code-lost", "LAUNCH || true"),
        ("exit-code-lost", "LAUNCH\nexit 0"),
        ("exit-code-lost", "trap 'exit 0' TERM\nexec LAUNCH"),
        ("exit-code-lost", "LAUNCH | tee /tmp/log"),
        ("signal-lost", "mkdir -p /tmp/a\nLAUNCH"),
        ("signal-lost", "LAUNCH; echo done"),
        ("literal-variable", "cd /src && exec LAUNCH $(NODE_RANK)"),
    ],
)
def test_defect_is_named_when_a_shell_stands_before_the_launcher(rule: str, script: str) -> None:
    """Codes and signals pass through it, or get lost in it."""
    found = lint(shell(script))
    assert rule in {finding.rule for finding in found}


@pytest.mark.parametrize(
    "script",
    [
        "exec LAUNCH",
        "LAUNCH",
        "if [ -e /checkpoints/done ]; then\n  exit 0\nfi\nexec LAUNCH",
        "set -eu\nexport HOST=$(hostname)\nexec LAUNCH",
        "set -o pipefail\nexec LAUNCH",
    ],
)
def test_shell_is_left_alone_when_it_hands_everything_on(script: str) -> None:
    """exec, or nothing else in the script."""
    assert lint(shell(script)) == []


def test_every_rule_is_named_when_it_is_documented_and_tested() -> None:
    """docs/schedulers.md lists exactly what lint can say, and each is seen to be said here."""
    sources = (ROOT / "trainer_hooks" / "manifest").glob("lint*.py")
    text = "".join(path.read_text() for path in sources)
    rules = {*re.findall(r'"([a-z]+(?:-[a-z0-9]+)+)",\n', text)}
    rules |= {*re.findall(r': \("([a-z]+(?:-[a-z]+)+)",', text)}
    documented = {
        *re.findall(
            r"^\| `([a-z0-9-]+)`", (ROOT / "docs" / "schedulers.md").read_text(), re.MULTILINE
        )
    }
    assert documented == rules
    here = "".join(path.read_text() for path in Path(__file__).parent.glob("test_lint*.py"))
    assert {rule for rule in rules if f'"{rule}"' not in here} == set()
