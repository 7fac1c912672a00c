"""A pseudo-random permutation of range(n) that needs no memory and any element in O(1).

A balanced Feistel network over the next even number of bits, walked until the value falls below
n (format-preserving encryption by cycle walking; Black and Rogaway, CT-RSA 2002). It scatters a
training set; it keeps no secrets.
"""

from dataclasses import dataclass
from hashlib import blake2b

_ROUNDS = 6
_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Permutation:
    """One order of ``range(size)``, a function of (seed, epoch) alone.

    The same on every machine and in every version: data positions outlive the code.
    """

    size: int
    half_bits: int
    keys: tuple[int, ...]

    @classmethod
    def of(cls, size: int, *, seed: int | str, epoch: int) -> "Permutation":
        """Derive the permutation of an epoch."""
        digest = blake2b(f"{seed}/{epoch}".encode(), digest_size=8 * _ROUNDS).digest()
        keys = tuple(int.from_bytes(digest[i : i + 8], "little") for i in range(0, 8 * _ROUNDS, 8))
        return cls(size, max(1, ((size - 1).bit_length() + 1) // 2), keys)

    def __getitem__(self, index: int) -> int:
        """Return the element at ``index``, 0 <= index < size."""
        if not 0 <= index < self.size:
            raise IndexError(index)
        value = self._encrypt(index)
        while value >= self.size:  # at most 4 of the values lie outside for each one inside
            value = self._encrypt(value)
        return value

    def _encrypt(self, value: int) -> int:
        low_mask = (1 << self.half_bits) - 1
        left, right = value >> self.half_bits, value & low_mask
        for key in self.keys:
            left, right = right, left ^ (_mix(right ^ key) & low_mask)
        return left << self.half_bits | right


def _mix(value: int) -> int:
    """The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    value &= _MASK
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & _MASK
    return value ^ (value >> 31)
