"""What people are told of a notice."""

import json
from dataclasses import replace

import pytest

from tests.support.standings import in_force
from watcher.actions.news import DETAILS_LIMIT, FIELDS, WORD_LIMIT_CHARS, News, document, sentence
from watcher.notice import NoticeKind, Standing


def said(standing: Standing, **changes: object) -> Standing:
    """Return it with other words of the cloud's."""
    return replace(standing, notice=replace(standing.notice, **changes))  # type: ignore[arg-type] # as named


def test_document_says_all_about_a_notice_when_it_is_in_force() -> None:
    """Every field, in the one order, as JSON that any program reads."""
    standing = said(in_force(), instance_id="i-1", detail={"reason": "capacity"})
    assert document(News(standing), "node-7") == {
        "schema": 1,
        "state": "in_force",
        "text": "node-7: preemption notice, the training on it stops; "
        "deadline 2026-11-30T10:07:06Z (test: stop)",
        "node": "node-7",
        "id": "spot-1",
        "kind": "preemption",
        "urgency": "stop",
        "source": "test",
        "action": "stop",
        "instance_id": "i-1",
        "received_at": "2026-11-30T10:05:06Z",
        "deadline": "2026-11-30T10:07:06Z",
        "counts_until": "2026-11-30T10:07:06Z",
        "drill": False,
        "detail": {"reason": "capacity"},
    }
    assert tuple(document(News(standing), "node-7")) == FIELDS


@pytest.mark.parametrize(
    ("news", "text"),
    [
        (
            News(in_force(kind=NoticeKind.REBALANCE)),
            (
                "n: rebalance notice, advice only, the training on it goes on; "
                "deadline 2026-11-30T10:07:06Z (test: stop)"
            ),
        ),
        (
            News(in_force(kind=NoticeKind.DRILL)),
            (
                "DRILL, nothing is taken away. n: drill notice, the training on it stops; "
                "deadline 2026-11-30T10:07:06Z (test: stop)"
            ),
        ),
        (
            News(in_force(kind=NoticeKind.DRILL), is_withdrawal=True),
            "DRILL, nothing is taken away. n: drill notice withdrawn (test: stop)",
        ),
        (
            News(said(in_force(), deadline=None, action=None)),
            (
                "n: preemption notice, the training on it stops; "
                "no deadline said, counted until 2026-11-30T10:07:06Z (test)"
            ),
        ),
    ],
)
def test_sentence_says_what_it_means_when_kinds_differ(news: News, text: str) -> None:
    """A drill says so first of all."""
    assert sentence(news, "n") == text


def test_document_is_one_printable_bounded_line_each_when_the_cloud_says_anything() -> None:
    """Control characters, lone surrogates and endless words end here."""
    many = {f"n{number}\x1b": "\ud800" + "x" * 9999 for number in range(999)}
    wild = said(in_force("\x00" * 9999), action='"}\n{', instance_id="\x1b[31m", detail=many)
    made = document(News(wild), "node-7")
    assert len(json.dumps(made)) < DETAILS_LIMIT * 2 * WORD_LIMIT_CHARS
    assert (made["action"], made["instance_id"]) == ('"}', "?[31m")
    assert made["id"] == "?" * WORD_LIMIT_CHARS
    detail = made["detail"]
    assert isinstance(detail, dict)
    assert len(detail) == DETAILS_LIMIT
    assert detail["n0?"] == "?" + "x" * (WORD_LIMIT_CHARS - 1)
    assert str(made["text"]).isprintable()
