"""What EC2 is asked, against moto's EC2."""

import asyncio
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import pytest
from lab.moto import REGION

from tests.support.moto_aws import Moto
from watcher.aws import ec2 as module
from watcher.aws.ec2 import Ec2, Member
from watcher.errors import AwsCallFailed

NOWHERE = "i-0123456789abcdef0"


@pytest.fixture
def ec2() -> Iterator[Ec2]:
    """EC2 as the daemon sees it."""
    with closing(Ec2(REGION)) as made:
        yield made


@pytest.fixture
def launched(moto: Moto) -> list[str]:
    """Three instances that run."""
    made = moto.call("ec2", "run_instances", ImageId="ami-0a1b2c3d", MinCount=3, MaxCount=3)
    return [instance["InstanceId"] for instance in made["Instances"]]


async def test_instance_is_present_until_it_ends_when_one_of_several_is_unknown(
    moto: Moto, ec2: Ec2, launched: list[str]
) -> None:
    """An id that EC2 has never heard of fails nobody else's question."""
    first, *others = launched
    await asyncio.to_thread(moto.call, "ec2", "terminate_instances", InstanceIds=[first])
    asked = [*launched, NOWHERE]
    assert await asyncio.to_thread(ec2.present, asked) == set(others)


async def test_instance_is_ours_only_when_it_carries_the_tag(
    moto: Moto, ec2: Ec2, launched: list[str]
) -> None:
    """By the key alone, or with a value."""
    key = f"kubernetes.io/cluster/{uuid.uuid4()}"
    owned, shared, other = launched
    for instance, value in ((owned, "owned"), (shared, "shared")):
        tags = [{"Key": key, "Value": value}]
        await asyncio.to_thread(moto.call, "ec2", "create_tags", Resources=[instance], Tags=tags)
    asked = [owned, shared, other, NOWHERE]
    assert await asyncio.to_thread(ec2.tagged, asked, key, None) == {owned, shared}
    assert await asyncio.to_thread(ec2.tagged, asked, key, "owned") == {owned}


class Paged:
    """Stands for EC2 where moto has nothing: reservations, and answers in several pages."""

    def __init__(self, *pages: Mapping[str, Any]) -> None:
        self.pages = list(pages)
        self.asked: list[Mapping[str, object]] = []

    def describe_instances(self, **arguments: object) -> Mapping[str, Any]:
        """Return the next page."""
        self.asked.append(arguments)
        return self.pages.pop(0)


class FixedClient:
    """Stands for the lazy client."""

    def __init__(self, client: Paged) -> None:
        self.client = client

    def get(self) -> object:
        """Return it."""
        return self.client


def page(names: Sequence[str], token: str | None = None) -> Mapping[str, Any]:
    """Build an answer of DescribeInstances."""
    instances = [{"InstanceId": name, "InstanceType": "p5.48xlarge"} for name in names]
    return {"Reservations": [{"Instances": instances}], "NextToken": token}


def test_members_come_from_every_page_when_a_reservation_is_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All are returned, and each page is asked for with the token of the one before."""
    paged = Paged(page(["i-1", "i-2"], "more"), page(["i-3"]))
    monkeypatch.setattr(module, "LazyClient", lambda *_: FixedClient(paged))
    members = Ec2(REGION).members("cr-0123456789abcdef0")
    assert members == [Member(f"i-{number}", "p5.48xlarge") for number in (1, 2, 3)]
    assert [asked.get("NextToken") for asked in paged.asked] == [None, "more"]


def test_question_names_the_instance_when_only_one_may_be_a_member(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A node asks about itself, not for everybody."""
    paged = Paged(page([]))
    monkeypatch.setattr(module, "LazyClient", lambda *_: FixedClient(paged))
    assert Ec2(REGION).members("cr-1", "i-1") == []
    assert paged.asked == [
        {
            "Filters": [
                {"Name": "capacity-reservation-id", "Values": ["cr-1"]},
                {"Name": "instance-id", "Values": ["i-1"]},
            ]
        }
    ]


def test_many_ids_are_asked_in_portions_when_a_filter_takes_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """EC2 refuses a filter with more than 200 values."""
    paged = Paged(page(["i-0"]), page(["i-200"]))
    monkeypatch.setattr(module, "LazyClient", lambda *_: FixedClient(paged))
    assert Ec2(REGION).present([f"i-{number}" for number in range(201)]) == {"i-0", "i-200"}


async def test_question_fails_in_our_words_when_ec2_can_not_be_reached(
    moto: Moto, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unknown is neither a member nor none."""
    del moto
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with closing(Ec2(REGION)) as ec2, pytest.raises(AwsCallFailed, match="EC2 DescribeInstances"):
        await asyncio.to_thread(ec2.members, "cr-1")


@pytest.mark.parametrize("pages", [[{}], [page([], "more")] * 101])
def test_question_fails_when_the_answer_is_not_ec2s_or_has_no_end(
    monkeypatch: pytest.MonkeyPatch, pages: list[Mapping[str, object]]
) -> None:
    """Never "no such instance": a sweep would remove the queues of living nodes."""
    monkeypatch.setattr(module, "LazyClient", lambda *_: FixedClient(Paged(*pages)))
    with pytest.raises(AwsCallFailed):
        Ec2(REGION).present([NOWHERE])
