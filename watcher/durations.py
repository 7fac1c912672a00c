"""How long something takes, in words for people. Pure."""

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400


def lasting(seconds: float) -> str:
    """Return a duration in at most two units, such as ``1 min 52 s``; what is negative as none."""
    whole_s = int(max(0.0, seconds))
    if whole_s < 10:
        return f"{max(0.0, seconds):.1f} s"
    if whole_s < _MINUTE_S:
        return f"{whole_s} s"
    if whole_s < _HOUR_S:
        return f"{whole_s // _MINUTE_S} min {whole_s % _MINUTE_S} s"
    if whole_s < _DAY_S:
        return f"{whole_s // _HOUR_S} h {whole_s % _HOUR_S // _MINUTE_S} min"
    return f"{whole_s // _DAY_S} d {whole_s % _DAY_S // _HOUR_S} h"
