"""JSON, words and ids of a cloud's, taken in without surprises."""

import pytest

from watcher.errors import SourceMalformed
from watcher.sources.words import decoded, detail, notice_id, object_with, shown, word


@pytest.mark.parametrize("body", [b'{"a": 1}', '{"a": 1}', "\ufeff{}", b"\xef\xbb\xbf[]"])
def test_json_is_decoded_when_it_has_a_byte_order_mark_or_none(body: bytes | str) -> None:
    """As bytes and as a text."""
    assert isinstance(decoded(body, "x"), dict | list)


@pytest.mark.parametrize("body", [b"", "", "{", b"\xff", "\ud800", "[" * 100_000, "9" * 5000])
def test_json_is_refused_when_it_is_none(body: bytes | str) -> None:
    """Too deep and too long are no JSON of AWS's either; the reason stays short."""
    with pytest.raises(SourceMalformed, match="what: no JSON") as caught:
        decoded(body, "what")
    assert len(str(caught.value)) < 400


def test_object_needs_one_of_its_names_when_told_apart() -> None:
    """Any of them will do."""
    assert object_with(("a", "b"), b'{"b": 1}', "what") == {"b": 1}
    with pytest.raises(SourceMalformed, match="a or b"):
        object_with(("a", "b"), b'{"c": 1}', "what")


def test_word_is_cut_or_none_when_it_is_no_word() -> None:
    """Nothing of any length gets into a log line or the flag file."""
    assert word("x" * 100) == "x" * 64
    assert word("x" * 100, 3) == "xxx"
    assert word(5) is None


def test_value_is_shown_short_when_odd() -> None:
    """A text by its beginning, anything else by its type alone."""
    assert shown("a", {"a": "x"}) == "a 'x'"
    assert len(shown("a", {"a": "x" * 1000})) < 100
    assert shown("a", {"a": [[[1]]]}) == "a is list"
    assert shown("a", {}) == "a is NoneType"


def test_id_is_fit_for_a_log_line_when_made_of_anything() -> None:
    """No spaces, no line breaks, nothing beyond ASCII."""
    assert notice_id("aws", None, "a b\nc/é") == "aws-unknown-a_b_c__"


def test_detail_has_what_was_said_when_some_was_not() -> None:
    """And what was odd under a name of its own."""
    assert detail({"a": "x", "b": None, "c": ""}) == {"a": "x"}
    assert detail({}, ["a is list", "b 'y'"]) == {"malformed": "a is list, b 'y'"}
