"""A notice without a deadline leaves the same time on both sides."""

from trainer_hooks.at_stop import ASSUMED_S
from trainer_hooks.flag import WINDOWS_S
from watcher.notice import NoticeKind
from watcher.policy import POLICY


def test_window_of_a_kind_is_the_watchers_when_nobody_has_set_another() -> None:
    """Of every kind that can be in a flag; a kind of a newer watcher has the usual one."""
    ours = {kind: WINDOWS_S.get(kind.value, ASSUMED_S) for kind in NoticeKind}
    assert ours == {kind: rule.default_window_s for kind, rule in POLICY.items()}
    assert set(WINDOWS_S) <= {kind.value for kind in NoticeKind}
