"""What of a shutdown the kubelet leaves pods, by the text of its settings."""

import pytest

from watcher.doctor.kubelet import duration_s, pods_limit

SETTINGS = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
shutdownGracePeriod: {whole}
shutdownGracePeriodCriticalPods: {critical}
"""


@pytest.mark.parametrize(
    ("whole", "critical", "left_s"),
    [("30s", "15s", 15), ('"45s"', "0s", 45), ("1m30s", "20s", 70), ("10s", "20s", 0)],
)
def test_pods_have_what_critical_ones_leave(whole: str, critical: str, left_s: float) -> None:
    """They are ended first."""
    limit = pods_limit(SETTINGS.format(whole=whole, critical=critical))
    assert limit is not None
    assert limit.window_s == left_s


@pytest.mark.parametrize(
    "settings",
    ["", SETTINGS.format(whole="0s", critical="0s"), "shutdownGracePeriod: soon\n", "a: [\n"],
)
def test_nothing_is_limited_when_no_shutdown_is_graceful(settings: str) -> None:
    """0 s is the kubelet's own default, and means off."""
    assert pods_limit(settings) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1h0m5.5s", 3605.5), ("500ms", 0.5), ("5", None), ("s", None), ("", None)],
)
def test_duration_is_read_as_go_writes_it(text: str, seconds: float | None) -> None:
    """And nothing else is taken for one."""
    assert duration_s(text) == seconds
