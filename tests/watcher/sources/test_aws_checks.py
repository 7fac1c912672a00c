"""What the doctor says of a metadata service, played by the simulator in every sad way."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.watcher_process import control
from watcher.cloud import Cloud
from watcher.config import Config
from watcher.doctor.command import findings_of
from watcher.finding import Finding, Verdict
from watcher.simulator.aws.options import HttpEndpoint, HttpTokens, MetadataOptions
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.server import make_app, serving
from watcher.sources import aws_diagnosis
from watcher.sources.aws_checks import CHECKS
from watcher.sources.aws_config import AwsConfig
from watcher.sources.aws_evidence import examine

NO_V2 = {"kind": "status", "status": 404, "path_prefix": "/latest/api/token"}


@asynccontextmanager
async def cloud(
    *faults: Mapping[str, object], scenario: AwsScenario | None = None
) -> AsyncIterator[str]:
    """Run a simulated EC2 with these faults."""
    app = make_app(scenario or AwsScenario(), ScenarioClock())
    async with serving(app, "127.0.0.1", 0) as url:
        for fault in faults:
            await control(url, "fault", **fault)
        yield url


async def diagnosed(
    url: str, environment: Mapping[str, str] | None = None, metadata_v1: str = "on"
) -> dict[str, Finding]:
    """Return the findings by the name of their check."""
    aws = AwsConfig(metadata_endpoint=url, metadata_limit_s=0.5, metadata_v1=metadata_v1)
    evidence = await examine(aws, environment or {}, lambda: datetime.now(UTC))
    return {check.__name__: check(evidence) for check in CHECKS}


def wrongs(findings: Mapping[str, Finding]) -> dict[str, str]:
    """Return what has to be done, by check."""
    return {
        name: finding.todo
        for name, finding in findings.items()
        if finding.verdict is Verdict.WRONG and not finding.todo.startswith("see above")
    }


async def test_everything_is_ok_when_the_instance_is_healthy() -> None:
    """Every check has something to say, and nothing to do."""
    async with cloud() as url:
        findings = await diagnosed(url)
    assert {finding.verdict for finding in findings.values()} == {Verdict.OK}
    assert not any(finding.todo for finding in findings.values())
    assert "i-0123456789abcdef0" in findings["identity"].found
    assert url in findings["reachable"].checked


async def test_hop_limit_is_named_when_only_the_token_does_not_come() -> None:
    """The service is reached, so it is no firewall."""
    async with cloud(scenario=AwsScenario(hops=2)) as url:
        findings = await diagnosed(url)
    assert wrongs(findings) == {"token": aws_diagnosis.HOP_LIMIT}
    assert findings["reachable"].verdict is Verdict.OK
    assert findings["spot"].verdict is Verdict.WRONG


async def test_firewall_is_named_when_nothing_is_reached(unused_tcp_port: int) -> None:
    """What can't be judged without an answer is unknown, not ok."""
    findings = await diagnosed(f"http://127.0.0.1:{unused_tcp_port}")
    assert wrongs(findings) == {"reachable": aws_diagnosis.UNREACHABLE}
    unknowns = {name for name, one in findings.items() if one.verdict is Verdict.UNKNOWN}
    assert unknowns == {"switched_on", "token", "proxy", "clock", "identity"}


async def test_options_are_named_when_the_service_is_switched_off() -> None:
    """403 to everything, which is not the 403 of a proxy."""
    options = MetadataOptions(http_endpoint=HttpEndpoint.DISABLED)
    async with cloud(scenario=AwsScenario(options=options)) as url:
        findings = await diagnosed(url)
    todo = aws_diagnosis.SWITCHED_OFF
    assert wrongs(findings) == {"switched_on": todo, "token": todo}


async def test_proxy_is_named_when_a_token_is_refused_and_demanded() -> None:
    """EC2 refuses a PUT with X-Forwarded-For, and only that."""
    async with cloud({**NO_V2, "status": 403}) as url:
        findings = await diagnosed(url)
    assert wrongs(findings) == {
        "token": aws_diagnosis.FORWARDED,
        "proxy": aws_diagnosis.FORWARDED,
    }


@pytest.mark.parametrize("kind", ["html", "redirect"])
async def test_stranger_is_named_when_a_page_stands_in_for_the_answer(kind: str) -> None:
    """A captive portal, or another service at that address."""
    async with cloud({"kind": kind}) as url:
        findings = await diagnosed(url)
    assert findings["proxy"].verdict is Verdict.WRONG
    assert findings["proxy"].todo == aws_diagnosis.NOT_EC2


async def test_proxy_variable_is_mentioned_when_it_is_set() -> None:
    """It does us no harm, but whoever looks for a proxy wants to know."""
    async with cloud() as url:
        findings = await diagnosed(url, {"HTTP_PROXY": "http://127.0.0.1:9"})
    assert findings["proxy"].verdict is Verdict.OK
    assert "HTTP_PROXY" in findings["proxy"].found


@pytest.mark.parametrize(
    ("metadata_v1", "http_tokens", "todo"),
    [
        ("on", HttpTokens.OPTIONAL, None),
        ("off", HttpTokens.OPTIONAL, aws_diagnosis.V1_FORBIDDEN),
        ("on", HttpTokens.REQUIRED, aws_diagnosis.TOKEN_REQUIRED),
    ],
)
async def test_token_is_judged_by_what_can_do_without_when_there_is_none(
    metadata_v1: str, http_tokens: HttpTokens, todo: str | None
) -> None:
    """IMDSv1 will do if both sides let it."""
    scenario = AwsScenario(options=MetadataOptions(http_tokens=http_tokens))
    async with cloud(NO_V2, scenario=scenario) as url:
        findings = await diagnosed(url, metadata_v1=metadata_v1)
    assert wrongs(findings) == ({} if todo is None else {"token": todo})


@pytest.mark.parametrize(
    ("ahead_s", "end"),
    [(-4, "of EC2's"), (4, "of EC2's"), (60, "s behind EC2's"), (-60, "s ahead of EC2's")],
)
async def test_clock_is_wrong_when_it_is_more_than_five_seconds_off(
    ahead_s: float, end: str
) -> None:
    """By the Date of the token's answer; the deadline would be off by as much."""
    async with cloud(scenario=AwsScenario(cloud_ahead_s=ahead_s)) as url:
        finding = (await diagnosed(url))["clock"]
    assert finding.verdict is (Verdict.OK if abs(ahead_s) < 5 else Verdict.WRONG)
    assert finding.found.endswith(end)


@pytest.mark.parametrize(
    ("started_in_s", "verdict"),
    [(-3600, Verdict.OK), (3600, Verdict.WRONG), (None, Verdict.UNKNOWN)],
)
async def test_clock_is_judged_by_the_identity_when_no_answer_has_a_date(
    started_in_s: float | None, verdict: Verdict
) -> None:
    """No clock can rightly show a time before the instance was started."""
    document = {"instanceId": "i-0123456789abcdef0"}
    if started_in_s is not None:
        started = datetime.now(UTC) + timedelta(seconds=started_in_s)
        document["pendingTime"] = started.isoformat().replace("+00:00", "Z")
    no_date = {"kind": "answer", "status": 404, "headers": {"Date": "soon"}}
    told = {"kind": "answer", "body": json.dumps(document)}
    async with cloud(
        {**no_date, "path_prefix": "/latest/api/token"},
        {**told, "path_prefix": "/latest/dynamic/"},
        scenario=AwsScenario(options=MetadataOptions(http_tokens=HttpTokens.OPTIONAL)),
    ) as url:
        assert (await diagnosed(url))["clock"].verdict is verdict


async def test_spot_is_wrong_when_its_key_alone_fails() -> None:
    """All else may be well; that is the one that matters."""
    fault = {"kind": "status", "status": 500, "path_prefix": "/latest/meta-data/spot/"}
    async with cloud(fault) as url:
        findings = await diagnosed(url)
    assert [name for name, one in findings.items() if one.verdict is Verdict.WRONG] == ["spot"]
    assert findings["spot"].todo.startswith("all else is answered")


async def test_spot_points_above_when_something_is_wrong_above() -> None:
    """One cause is mended once."""
    options = MetadataOptions(http_endpoint=HttpEndpoint.DISABLED)
    async with cloud(scenario=AwsScenario(options=options)) as url:
        findings = await diagnosed(url)
    assert findings["spot"].todo.startswith("see above")


async def test_notice_is_mentioned_when_one_is_in_force() -> None:
    """Whoever asks why the job has stopped should see it here as well."""
    async with cloud() as url:
        await control(url, "notice")
        assert (await diagnosed(url))["spot"].found == "can be read; one is in force"


async def test_nothing_is_asked_when_the_service_is_switched_off_by_a_setting() -> None:
    """The report says so instead of being empty."""
    settings = Config(cloud="aws", sections=(AwsConfig(metadata="off"),))
    _cloud, first, *_ = await findings_of(settings, {})
    assert (first.checked, first.verdict) == ("metadata service", Verdict.UNKNOWN)


async def test_silent_cloud_is_wrong_and_checked_when_only_the_firmware_names_it(
    monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int
) -> None:
    """Its checks say in which way it is silent."""

    async def silent(_config: Config) -> Cloud:
        return Cloud("aws", "the firmware says so", is_silent=True)

    monkeypatch.setattr("watcher.doctor.command.find_cloud", silent)
    settings = AwsConfig(metadata_endpoint=f"http://127.0.0.1:{unused_tcp_port}")
    cloud, reachable, *_ = await findings_of(Config(sections=(settings,)), {})
    assert (cloud.verdict, cloud.found) == (Verdict.WRONG, "aws: the firmware says so")
    assert "NetworkPolicy" in cloud.todo
    assert (reachable.verdict, reachable.todo) == (Verdict.WRONG, aws_diagnosis.UNREACHABLE)
