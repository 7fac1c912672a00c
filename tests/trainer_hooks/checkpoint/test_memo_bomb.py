"""Five bytes that would take all the memory, found as the standard library would find them."""

import pickle
import pickletools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from trainer_hooks.checkpoint.memo_bomb import refuse_memo_bomb

CODES = [opcode.code.encode("latin-1") for opcode in pickletools.opcodes]
HUGE = (2**31).to_bytes(4, "little")

small = st.integers(0, 40).map(lambda number: number.to_bytes(8, "little"))
four = small.map(lambda eight: eight[:4])
arguments = st.one_of(st.just(b""), four, small, st.binary(max_size=9))
streams = st.lists(st.tuples(st.sampled_from(CODES), arguments), max_size=30)


def is_refused(data: bytes) -> bool:
    """Ask the code under test."""
    try:
        refuse_memo_bomb(data)
    except (pickle.UnpicklingError, ValueError):
        return True
    return False


def numbers_too_high(data: bytes) -> bool:
    """Ask the standard library, opcode by opcode; what it cannot follow is refused too."""
    try:
        return any(
            opcode.name in ("PUT", "BINPUT", "LONG_BINPUT") and (argument or 0) > len(data)
            for opcode, argument, _ in pickletools.genops(data)
        )
    except ValueError:
        return True


@settings(max_examples=400, deadline=None)
@given(streams.map(lambda parts: b"".join(code + argument for code, argument in parts)))
@example(b"\x80\x04" + b"\x8c\x05r" + HUGE + b".")  # within a text it is no opcode
@example(b"\x80\x04" + b"\x8c\x04aaaa" + b"r" + HUGE + b".")
@example(b"." + b"r" + HUGE)  # nobody reads on
@example(b"N.N.\xff")
@example(b"G123")
def test_opcodes_are_judged_as_the_standard_library_would(data: bytes) -> None:
    """For any that follow each other, with arguments that fit and that don't."""
    assert is_refused(data) == numbers_too_high(data)


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary()),
        lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    ),
    st.integers(0, pickle.HIGHEST_PROTOCOL),
)
def test_pickles_of_every_protocol_pass(value: object, protocol: int) -> None:
    """However their objects are numbered."""
    assert not is_refused(pickle.dumps(value, protocol))


@pytest.mark.parametrize("put", [b"r" + HUGE, b"p2147483648\n", b"q\xff"])
def test_number_higher_than_the_pickle_has_bytes_is_refused(put: bytes) -> None:
    """In each of the three ways to write one, wherever it stands."""
    for before in (b"", b"Ka", b"\x8c\x04rrrr", b"K\x00" * 20):
        data = b"\x80\x04" + before + put + b"."
        with pytest.raises(pickle.UnpicklingError, match="numbers an object"):
            refuse_memo_bomb(data)


def test_a_long_pickle_of_small_opcodes_needs_no_stack() -> None:
    """A run of a million is matched in one step that remembers nothing."""
    with pytest.raises(pickle.UnpicklingError, match="does not end"):
        refuse_memo_bomb(b"K\x00" * 1_000_000)
    refuse_memo_bomb(b"K\x00" * 1_000_000 + b".")
