"""How ranks can agree on a step: the name that people give it, and the class that does it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

from trainer_hooks.agreement import StepAgreement
from trainer_hooks.collective_agreement import CollectiveAgreement
from trainer_hooks.errors import ConfigError

Agreement: TypeAlias = StepAgreement | CollectiveAgreement
AgreementName: TypeAlias = Literal["store", "collective"]

_AGREEMENTS: Mapping[str, type[Agreement]] = MappingProxyType(
    {"store": StepAgreement, "collective": CollectiveAgreement}
)


def agreement_of(name: str) -> type[Agreement]:
    """Return the class of this name.

    Raises:
        ConfigError: There is none.
    """
    if name not in _AGREEMENTS:
        raise ConfigError(f"agreement is one of {[*_AGREEMENTS]}, not {name!r:.80}")
    return _AGREEMENTS[name]
