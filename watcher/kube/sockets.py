"""Sockets that find out for themselves that the other end has died without a word."""

import socket

import aiohttp

IDLE_S, EVERY_S, TIMES = 10, 5, 3
"""After 10 s without a word the other end is probed, every 5 s, and is dead after 3 probes: a watch
says nothing for a minute, and a notice may be worth only half of one."""

DEAD_AFTER_S = IDLE_S + EVERY_S * TIMES

_OPTIONS = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, IDLE_S),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, EVERY_S),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, TIMES),
    # Of what was sent and not confirmed, as probes are only sent while nothing is on the way.
    (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, DEAD_AFTER_S * 1000),
)


def probing(address: aiohttp.AddrInfoType) -> socket.socket:
    """Return a socket for an address; its reads fail within DEAD_AFTER_S of the other's death.

    Source: tcp(7) of Linux (read 2026-11-30).
    """
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    for level, option, value in _OPTIONS:
        made.setsockopt(level, option, value)
    return made
