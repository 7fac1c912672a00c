#!/usr/bin/env python3
"""Oracle Cloud: preemptions are told by Events alone; a rule puts them on a stream, this reads it.

    [command]
    argv = ["/opt/reprieve/examples/command/oci.py", "STREAM_OCID", "MESSAGES_ENDPOINT"]

It needs the `oci` command line, and a dynamic group that may read the stream (`use stream-pull`).
The stream has one partition. Of the last two minutes each message is read again at a start, as an
instance lives on for about two minutes after its own.
Source: OCI documentation, "Events, Compute", "Preemptible instances", CLI `streaming` (read
2026-11-30); the two minutes are what users have seen, not Oracle's word.
"""

import base64
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

METADATA = os.environ.get("OCI_METADATA", "http://169.254.169.254")
EVENT = "com.oraclecloud.computeapi.instancepreemptionaction"
WINDOW = timedelta(seconds=120)
PAUSE_S = 1.0


def own_ocid() -> str:
    """Return this instance's OCID, past any proxy."""
    past_proxies = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    url = f"{METADATA}/opc/v2/instance/"
    request = urllib.request.Request(url, headers={"Authorization": "Bearer Oracle"})  # noqa: S310 - http
    with past_proxies.open(request, timeout=5) as answer:
        return str(json.load(answer)["id"])


def oci(*arguments: str) -> dict[str, object]:
    """Return what the command line answers; raises when it fails, which ends this program."""
    command = ["oci", "--auth", "instance_principal", *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=60)  # noqa: S603 - fixed words
    answer: dict[str, object] = json.loads(done.stdout or b"{}")
    return answer


def events(stream: str, endpoint: str) -> Iterator[dict[str, object]]:
    """Yield every event of the stream, from two minutes ago on."""
    target = ("--stream-id", stream, "--endpoint", endpoint)
    began = (datetime.now(UTC) - WINDOW).isoformat()
    at = ("--partition", "0", "--type", "AT_TIME", "--time", began)
    made = oci("streaming", "stream", "cursor", "create-cursor", *target, *at)
    cursor = str(dict(made["data"])["value"])  # type: ignore[call-overload] # the CLI's own shape
    while True:
        answer = oci("streaming", "stream", "message", "get", *target, "--cursor", cursor)
        for message in list(answer.get("data") or []):  # type: ignore[call-overload] # likewise
            try:
                event = json.loads(base64.b64decode(message["value"]))
            except (ValueError, TypeError, KeyError):
                continue  # somebody else's message
            if isinstance(event, dict):
                yield event
        print(flush=True)  # an empty line: this program is alive and hears
        cursor = str(answer["opc-next-cursor"])
        time.sleep(PAUSE_S)


def notice_of(event: dict[str, object], mine: str) -> dict[str, object] | None:
    """Return the notice that an event is for this instance, None if it is none."""
    data = event.get("data")
    if event.get("eventType") != EVENT or not isinstance(data, dict):
        return None
    if data.get("resourceId") != mine:
        return None
    extra = data.get("additionalDetails") or {}
    notice = {"id": event.get("eventID", mine), "kind": "preemption", "instance_id": mine}
    said = str(event.get("eventTime", ""))
    try:
        deadline = (datetime.fromisoformat(said) + WINDOW).isoformat()
    except ValueError:
        deadline = said  # the watcher says that it could not be read
    return {
        **notice,
        "action": extra.get("preemptionAction"),
        "deadline": deadline,
        "window_s": WINDOW.total_seconds(),
    }


def main(stream: str, endpoint: str) -> None:
    """Print this instance's notices for as long as the stream can be read."""
    mine = own_ocid()
    for event in events(stream, endpoint):
        notice = notice_of(event, mine)
        if notice is not None:
            print(json.dumps(notice), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
