"""The stand-in for EventBridge's and SNS's matching can say no."""

import pytest

from tests.support.event_patterns import matches

EVENT = {
    "source": "aws.ec2",
    "detail-type": "EC2 Capacity Reservation Instance Interruption Warning",
    "detail": {"state": "stopped", "entities": [{"id": "a"}, {"id": "b"}], "tags": ["x", "y"]},
}


@pytest.mark.parametrize(
    "pattern",
    [
        {},
        {"source": ["aws.ec2"]},
        {"source": ["aws.health", "aws.ec2"], "detail": {"state": ["stopped"]}},
        {"detail-type": [{"prefix": "EC2 Capacity Reservation"}]},
        {"detail": {"entities": {"id": ["b"]}}},
        {"detail": {"tags": ["y"]}},
        {"detail": {"state": [{"exists": True}]}},
        {"$or": [{"source": ["aws.s3"]}, {"source": ["aws.ec2"]}]},
    ],
)
def test_pattern_matches_when_every_key_allows_its_value(pattern: dict[str, object]) -> None:
    """Any of a list, all of the keys, any item of a list in the event."""
    assert matches(pattern, EVENT)


@pytest.mark.parametrize(
    "pattern",
    [
        {"source": ["aws.EC2"]},
        {"source": ["aws.ec2"], "detail": {"state": ["running"]}},
        {"detail-type": [{"prefix": "EC2 Capacity Block"}]},
        {"detail": {"entities": {"id": ["c"]}}},
        {"detail": {"state": {"name": ["stopped"]}}},
        {"detail": {"other": [{"exists": True}]}},
        {"none": ["aws.ec2"]},
        {"$or": [{"source": ["aws.s3"]}, {"detail": {"state": ["x"]}}]},
    ],
)
def test_pattern_does_not_match_when_one_key_forbids_it(pattern: dict[str, object]) -> None:
    """Case counts, and a key that is not there allows nothing."""
    assert not matches(pattern, EVENT)


@pytest.mark.parametrize(
    "pattern",
    [
        {"source": "aws.ec2"},
        {"source": []},
        {"source": [{"suffix": "ec2"}]},
        {"source": [{"exists": False}]},
        {"source": [{"prefix": "aws", "suffix": "ec2"}]},
        {"$or": [{"source": ["aws.ec2"]}]},
    ],
)
def test_pattern_is_an_error_when_it_is_not_understood(pattern: dict[str, object]) -> None:
    """Neither yes nor no would be known to be right."""
    with pytest.raises(ValueError, match=r"known|list"):
        matches(pattern, EVENT)
