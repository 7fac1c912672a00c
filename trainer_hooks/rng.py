"""Random number generators of one rank: captured, restored, or re-seeded for another world.

No pickle: Python's state is integers, numpy's a list, torch's bytes in hexadecimal.
"""

import random
from hashlib import blake2b

import numpy as np
import torch

from trainer_hooks.errors import StateError
from trainer_hooks.leaves import join, split
from trainer_hooks.untrusted import Json


def capture_rng() -> dict[str, Json]:
    """Return the states of Python, numpy, torch and every CUDA device of this process."""
    name, keys, position, has_gauss, gauss = np.random.get_state(legacy=True)  # noqa: NPY002 - the global state is what must come back
    return {
        "python": split("rng.python", random.getstate(), {}),
        "numpy": [str(name), [int(key) for key in keys], position, has_gauss, gauss],
        "torch": _hex(torch.get_rng_state()),
        "cuda": [_hex(torch.cuda.get_rng_state(i)) for i in range(torch.cuda.device_count())],
    }


def restore_rng(captured: dict[str, Json]) -> None:
    """Set all generators to a captured state.

    Raises:
        StateError: The state is damaged, or was captured with another number of devices.
    """
    try:
        _restore(captured)
    except (LookupError, ArithmeticError, TypeError, ValueError, RuntimeError) as error:
        raise StateError(f"the captured RNG state cannot be restored: {error}") from error


def seed_rng(seed: int, step: int, rank: int) -> None:
    """Seed all generators from (seed, step, rank), the same way on every machine and version.

    ``blake2b``, because Python's own ``hash`` is salted per process.
    """
    digest = blake2b(f"{seed}/{step}/{rank}".encode(), digest_size=8).digest()
    value = int.from_bytes(digest, "little")
    random.seed(value)
    np.random.seed(value % 2**32)  # noqa: NPY002 - the global state is what the training uses
    torch.manual_seed(value % 2**63)  # seeds the CUDA devices too


def _restore(captured: dict[str, Json]) -> None:
    devices = captured["cuda"]
    if not isinstance(devices, list) or len(devices) != torch.cuda.device_count():
        raise StateError(
            f"RNG was captured on {devices if devices is None else len(devices)} CUDA devices, "  # type: ignore[arg-type]  # a list, or said to be none
            f"this process has {torch.cuda.device_count()}"
        )
    random.setstate(join(captured["python"], {}))  # type: ignore[arg-type]  # setstate checks it
    np.random.set_state(tuple(captured["numpy"]))  # type: ignore[arg-type]  # noqa: NPY002 - set_state checks it
    torch.set_rng_state(_bytes(captured["torch"]))
    for index, state in enumerate(devices):
        torch.cuda.set_rng_state(_bytes(state), index)


def _hex(state: torch.Tensor) -> str:
    return bytes(state.tolist()).hex()


def _bytes(text: Json) -> torch.Tensor:
    return torch.tensor(list(bytes.fromhex(str(text))), dtype=torch.uint8)
