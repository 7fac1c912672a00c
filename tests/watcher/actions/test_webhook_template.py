"""A body of one's own."""

import pytest

from tests.support.standings import in_force
from watcher.actions.news import FIELDS, News, document
from watcher.actions.webhook_template import filled, template

NEWS = document(News(in_force()), "node-7")


def test_template_is_filled_in_wherever_a_string_has_a_place() -> None:
    """A string that is nothing but a place becomes the field; other values stay."""
    given = (
        '{"text": "{kind} on {node}, drill: {drill}, instance: {instance_id}.", '
        '"all": ["{detail}", "{drill}", "{schema}", 7, null, true], "{kind}": "{ kind } {}"}'
    )
    assert filled(template(given), NEWS) == {
        "text": "preemption on node-7, drill: false, instance: .",
        "all": [{}, False, 1, 7, None, True],
        "{kind}": "{ kind } {}",
    }


@pytest.mark.parametrize("name", FIELDS)
def test_template_has_a_place_for_every_field(name: str) -> None:
    """As our own document has."""
    assert filled(template(f'"{{{name}}}"'), NEWS) == NEWS[name]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (7, "a text"),
        ("{", "JSON"),
        ('{"a": {kind}}', "JSON"),
        ("[" * 100_000, "nested"),
        ('"{knd}"', r"there is no \{knd\}; the nearest is \{kind\}"),
        ('["{' + "x" * 999 + '}"]', "the nearest is"),
    ],
)
def test_template_is_refused_when_it_can_not_be_filled_in(value: object, why: str) -> None:
    """At the start, and not when the notice comes."""
    with pytest.raises(ValueError, match=why) as caught:
        template(value)
    assert len(str(caught.value)) < 300
