"""A bit that a disk, a cable or a memory has turned over."""

from pathlib import Path


def flip_bit(path: Path, at: float = 0.5, bit: int = 0) -> None:
    """Change one bit of a file.

    Args:
        path: The file.
        at: Where, as a share of its length: 0.0 is the first byte, 1.0 the last.
        bit: Which of that byte's, 0 to 7.
    """
    data = bytearray(path.read_bytes())
    data[round(at * (len(data) - 1))] ^= 1 << bit
    path.write_bytes(data)
