"""A machine that has vanished, as the other end of a connection sees it: no packet is answered."""

import ctypes
import socket
import struct

_SO_ATTACH_FILTER = 26
_DROP_ALL = struct.pack("HBBI", 6, 0, 0, 0)
"""BPF_RET | BPF_K, 0: of each packet keep nothing (socket(7), linux/filter.h)."""


def deafen(connection: socket.socket) -> None:
    """Let a connection's kernel drop all that comes, unread and unanswered, and ask for nothing."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 0)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 0)
    program = ctypes.create_string_buffer(_DROP_ALL)
    filter_ = struct.pack("HP", 1, ctypes.addressof(program))
    connection.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, filter_)
