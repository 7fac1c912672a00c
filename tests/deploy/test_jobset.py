"""The manifests in deploy/: what the command prints, and valid where they are applied."""

import copy
import itertools
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]  # its stubs would be one more dependency
import kubernetes_validate  # type: ignore[import-untyped]  # likewise
import pytest
import yaml  # type: ignore[import-untyped]  # likewise

from tests.support.kustomized import check
from tests.support.manifests import request
from trainer_hooks.manifest.platforms import PLATFORMS
from trainer_hooks.manifest.render import Form, render

DEPLOY = Path(__file__).parents[2] / "deploy"

EXAMPLE = request("eks", queue="training")


@pytest.mark.parametrize("form", [Form.JOBSET, Form.JOB, Form.CLUSTER])
def test_file_is_what_the_command_prints_when_it_is_shipped(form: Form) -> None:
    """What people read in deploy/ and what they get are the same; its README has the command."""
    assert (DEPLOY / "jobset" / f"{form}.yaml").read_text() == render(form, EXAMPLE)


@pytest.mark.parametrize(
    ("cloud", "form"),
    [
        *itertools.product(PLATFORMS, (Form.JOBSET, Form.JOB)),
        *((cloud, Form.CLUSTER) for cloud in PLATFORMS if cloud != "other"),
    ],
)
@pytest.mark.parametrize("queue", [None, "training"])
def test_manifest_is_valid_when_it_is_rendered(cloud: str, queue: str | None, form: Form) -> None:
    """Every object of every form, for every cloud, by its published schema."""
    documents = list(yaml.safe_load_all(render(form, request(cloud, queue=queue))))
    assert documents
    for document in documents:
        check(document)


@pytest.mark.parametrize("form", [Form.JOBSET, Form.JOB, Form.CLUSTER])
def test_check_refuses_when_a_field_is_misspelt(form: Form) -> None:
    """Anywhere: a schema that lets everything through would prove nothing."""
    for document in yaml.safe_load_all(render(form, EXAMPLE)):
        if "spec" not in document:
            continue
        odd = copy.deepcopy(document)
        odd["spec"]["replicas_"] = 1
        with pytest.raises(
            (jsonschema.ValidationError, kubernetes_validate.ValidationError), match="replicas_"
        ):
            check(odd)
