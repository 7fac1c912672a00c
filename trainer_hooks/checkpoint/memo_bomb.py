"""Refusing the pickle that takes all the memory before a single object is made."""

import io
import pickle
import pickletools
import re

_NUMBERS = ("PUT", "BINPUT", "LONG_BINPUT")
"""The opcodes that number an object themselves. Today's pickles let the unpickler count."""

_OPCODES = {ord(opcode.code): opcode for opcode in pickletools.opcodes}


def _harmless() -> re.Pattern[bytes]:
    """Match a run of opcodes that number nothing and whose argument is of one length.

    An index holds some 160 opcodes for each piece of a tensor, nearly all of them these; a loop
    over ``pickletools.genops`` takes longer than all else that is done with it.
    """
    of_length: dict[int, bytes] = {}
    for code, opcode in _OPCODES.items():
        length = 0 if opcode.arg is None else opcode.arg.n
        if length >= 0 and opcode.name not in (*_NUMBERS, "STOP"):
            of_length[length] = of_length.get(length, b"") + bytes([code])
    kinds = (b"[%b].{%d}" % (re.escape(codes), length) for length, codes in of_length.items())
    return re.compile(b"(?:" + b"|".join(kinds) + b")*+", re.DOTALL)  # keeps no way back: no stack


_HARMLESS = _harmless()


def refuse_memo_bomb(data: bytes) -> None:
    """Refuse a pickle that numbers an object higher than it has bytes.

    The unpickler makes room for as many as the number says: five bytes can take all the memory.

    Args:
        data: The pickle. What comes after its end is not looked at, as nobody reads it.

    Raises:
        pickle.UnpicklingError: It does, or it ends in its midst, or names no opcode.
        ValueError: An argument is cut short, or none.
    """
    stream = io.BytesIO(data)
    while True:
        run = _HARMLESS.match(data, stream.tell())
        stream.seek(run.end() if run else stream.tell())
        code = stream.read(1)
        opcode = _OPCODES.get(ord(code)) if code else None
        if opcode is None:
            raise pickle.UnpicklingError("it does not end" if not code else f"it names {code!r}")
        if opcode.name == "STOP":
            return
        argument = opcode.arg.reader(stream) if opcode.arg else None
        if opcode.name in _NUMBERS and isinstance(argument, int) and argument > len(data):
            raise pickle.UnpicklingError(f"it numbers an object {argument}")
