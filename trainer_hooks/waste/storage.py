"""What checkpoints ask of the storage."""

WEEK_S = 604_800.0

BYTES_A_PARAMETER = 14
"""bf16 weights (2), fp32 masters (4) and Adam's two fp32 moments (8): mixed precision as usual."""


def state_bytes(parameters: float, bytes_a_parameter: float = BYTES_A_PARAMETER) -> float:
    """Return the size of one checkpoint of a model, of all its ranks together."""
    return parameters * bytes_a_parameter


def sustained_bytes_per_s(size_bytes: float, interval_s: float, stall_s: float) -> float:
    """Return what the storage has to take in all the time: one checkpoint every T + C seconds."""
    return size_bytes / (interval_s + stall_s)
