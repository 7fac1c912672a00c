"""torchrun is looked at before an elastic job starts."""

import inspect
from typing import Any

import pytest
from torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
from torch.distributed.elastic.rendezvous import dynamic_rendezvous as torchs

from trainer_hooks.errors import ConfigError
from trainer_hooks.launch.fit import _METHODS, check_fit


def test_torchrun_fits_as_it_is_installed() -> None:
    """The version that the tests run with is the one that the hooks are made for."""
    check_fit()
    assert all(inspect.isfunction(getattr(LocalElasticAgent, name)) for name in _METHODS)


@pytest.mark.parametrize(
    ("owner", "name", "now", "complaint"),
    [
        (LocalElasticAgent, "_monitor_workers", lambda _self: None, "_monitor_workers(self, "),
        (LocalElasticAgent, "_stop_workers", None, "_stop_workers(self, worker_group)"),
        (LocalElasticAgent, "_invoke_run", lambda _self: None, "_remaining_restarts"),
        (torchs, "_remove_participant_epilogue", lambda: None, "the rendezvous (TypeError"),
        (torchs, "_BackendRendezvousStateHolder", None, "the rendezvous (TypeError"),
    ],
)
def test_elastic_job_is_refused_when_torchrun_is_built_otherwise(
    monkeypatch: pytest.MonkeyPatch,
    owner: object,
    name: str,
    now: Any,  # noqa: ANN401 - what another version may have there
    complaint: str,
) -> None:
    """By name, and before anything starts: it would be found out at the first preemption."""
    monkeypatch.setattr(owner, name, now)
    with pytest.raises(ConfigError) as refused:
        check_fit()
    assert complaint in str(refused.value)
    assert "Give one number of nodes" in str(refused.value)
