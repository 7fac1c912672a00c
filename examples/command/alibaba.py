#!/usr/bin/env python3
"""Alibaba Cloud: the metadata service says when a spot instance is taken back, 5 min ahead.

    [command]
    argv = ["/opt/reprieve/examples/command/alibaba.py"]
    mode = "status"
    interval_s = 1
    limit_s = 5

404 is "no notice" only from Alibaba's own service, which is known by the instance's id.
Source: Alibaba Cloud ECS, "Instance metadata" and "Spot instances" (read 2026-11-30).
"""

import json
import os
import re
import sys
import urllib.error
import urllib.request

BASE = os.environ.get("ALIBABA_METADATA", "http://100.100.100.200")
ITEM = "/latest/meta-data/instance/spot/termination-time"

IN_FORCE, NONE, UNKNOWN = 0, 1, 2


def ask(method: str, path: str, headers: dict[str, str]) -> tuple[int, str]:
    """Return status and body of one answer, past any proxy."""
    past_proxies = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(BASE + path, method=method, headers=headers)  # noqa: S310 - http
    try:
        with past_proxies.open(request, timeout=2) as answer:
            return answer.status, answer.read(4096).decode().strip()
    except urllib.error.HTTPError as error:
        return error.code, ""


def main() -> int:
    """Print the notice, if there is one, and return the exit status."""
    life = {"X-aliyun-ecs-metadata-token-ttl-seconds": "60"}
    status, token = ask("PUT", "/latest/api/token", life)
    headers = {"X-aliyun-ecs-metadata-token": token} if status == 200 else {}
    status, instance = ask("GET", "/latest/meta-data/instance-id", headers)
    if status != 200 or not re.fullmatch(r"i-[a-z0-9]+", instance):
        raise ValueError(f"no instance's id from {BASE}: HTTP {status} {instance:.40}")
    status, words = ask("GET", ITEM, headers)
    if status == 404:
        return NONE
    if status != 200:
        raise ValueError(f"{ITEM}: HTTP {status}")
    notice = {"kind": "preemption", "instance_id": instance, "action": "release"}
    # What is there is a notice, also when its time can't be read: the watcher says so.
    print(json.dumps({**notice, "deadline": words, "window_s": 300}))
    return IN_FORCE


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception as error:  # noqa: BLE001 - Python's own status for a crash is 1, "no notice"
        print(error, file=sys.stderr)
        sys.exit(UNKNOWN)
