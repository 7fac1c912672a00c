"""A body of one's own: JSON in whose strings ``{field}`` stands for a field of the news; pure.

The template is read as JSON first and filled in afterwards, so nothing that is filled in can end
its string.
"""

import difflib
import json
import re
from collections.abc import Mapping

from watcher.actions.news import FIELDS

_PLACE = re.compile(r"\{([a-z_]+)\}")


def template(value: object) -> str:
    """Return a template that can be filled in; the reader of its setting."""
    if not isinstance(value, str):
        raise ValueError("a text")  # noqa: TRY004 - what readers of settings raise
    try:
        parsed = json.loads(value)
    except RecursionError as error:
        raise ValueError("JSON that is not nested that deep") from error
    except ValueError as error:
        raise ValueError(f"JSON ({error})") from error
    for name in _PLACE.findall(json.dumps(parsed)):
        if name not in FIELDS:
            nearest = difflib.get_close_matches(name[:80], FIELDS, n=1, cutoff=0.0)[0]
            raise ValueError(
                f"JSON with fields of the news: there is no {{{name:.80}}}; the nearest is "
                f"{{{nearest}}}"
            )
    return value


def filled(given: str, news: Mapping[str, object]) -> object:
    """Return the template with the news filled in.

    A string that is nothing but a place becomes the field itself, so an object stays one.
    """
    return _filled(json.loads(given), news)


def _filled(part: object, news: Mapping[str, object]) -> object:
    if isinstance(part, dict):
        return {name: _filled(inner, news) for name, inner in part.items()}
    if isinstance(part, list):
        return [_filled(inner, news) for inner in part]
    if not isinstance(part, str):
        return part
    if whole := _PLACE.fullmatch(part):
        return news[whole[1]]
    return _PLACE.sub(lambda found: _text(news[found[1]]), part)


def _text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)
