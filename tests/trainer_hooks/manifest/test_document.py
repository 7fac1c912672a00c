"""Reading YAML that anybody may have written."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer_hooks.errors import ConfigError
from trainer_hooks.manifest.document import MAX_BYTES, Tree, read_documents
from trainer_hooks.manifest.lint import lint


def only(text: str) -> Tree:
    [document] = read_documents(text).documents
    return document


def test_values_have_their_lines_when_they_are_read() -> None:
    """Counted from one, in every document of a file."""
    first, second = read_documents("a: 1\nb:\n  - x\n  - {c: yes}\n---\nd: null\n").documents
    assert (first.at("a").number, first.at("a").line) == (1, 1)
    assert (first.at("b", 0).text, first.at("b", 0).line) == ("x", 3)
    assert (first.at("b", 1, "c").text, first.at("b", 1, "c").line) == ("true", 4)
    assert second.at("d") == Tree(6)


@pytest.mark.parametrize("path", [("b",), ("a", "x"), ("a", 0), ("l", 2), ("l", "x"), ("n",)])
def test_missing_value_has_its_surroundings_line_when_it_is_asked_for(
    path: tuple[str | int, ...],
) -> None:
    """So that a finding about it has a place."""
    tree = only("\na: 1\nl: [1]\nn:\n").at(*path)
    assert not tree.is_there
    assert 2 <= tree.line <= 3
    assert (tree.text, tree.number, tree.items, tree.fields) == ("", None, (), {})


def test_value_is_no_number_when_it_only_looks_like_one() -> None:
    """True is 1 to Python, and a number of 5,000 digits is none to it."""
    tree = only(f"a: true\nb: '1'\nc: {'9' * 5000}\nd: 2026-11-30\ne: !!int x\n")
    assert [tree.at(key).number for key in "abcde"] == [None] * 5
    assert tree.at("d").text == "2026-11-30"


def test_merged_keys_are_there_when_an_anchor_brings_them() -> None:
    """The mapping's own win, and the first of several anchors."""
    tree = only("x: &x {a: 1, b: 2}\ny: &y {b: 3, c: 4}\nz: {<<: [*x, *y], a: 9}\n").at("z")
    assert {key: tree.at(key).number for key in tree.fields} == {"a": 9, "b": 2, "c": 4}


def test_duplicate_key_is_noted_when_a_mapping_has_it() -> None:
    """With the line of the second."""
    reading = read_documents("a:\n  b: 1\n  c: 2\n  b: 3\n")
    assert reading.duplicates == [(4, "b")]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a: [", "no YAML"),
        ("a: *x", "no YAML"),
        ("\x00", "no YAML"),
        ("[" * 200_000, "deeper"),
        ("- " * 5_000 + "a", "deeper"),
        ("a: &a [*a]", "deeper"),
        ("a: x\n" * 60_000, "values"),
        ("#" * (MAX_BYTES + 1), "bytes"),
        (
            "a: &a [x, x, x, x, x, x, x, x, x]\n"
            + "".join(
                f"{b}: &{b} [{f'*{a}, ' * 9}]\n" for a, b in zip("abcdefg", "bcdefgh", strict=True)
            ),
            "aliases",
        ),
    ],
)
def test_file_is_refused_when_reading_it_would_cost_too_much(text: str, what: str) -> None:
    """Size, depth and aliases have bounds; what is no YAML is said to be none."""
    with pytest.raises(ConfigError, match=what):
        read_documents(text)


def test_nothing_is_made_when_a_tag_asks_for_an_object() -> None:
    """The text stays text."""
    tree = only("a: !!python/object/apply:os.system ['true']\nb: !x y\n")
    assert tree.at("a").texts == ["true"]
    assert tree.at("b").text == "y"


@given(st.text(alphabet="abk:[]{}-&*<> \n'\"!#|%@,?0~\t", max_size=80))
def test_lint_answers_or_refuses_when_a_file_is_any_text(text: str) -> None:
    """Never with another error."""
    with suppress(ConfigError):
        assert isinstance(lint(f"kind: Job\n{text}"), list)
