"""The control path: how a test, a demo or a drill makes things happen. No cloud has these."""

import json
from collections.abc import Collection

from aiohttp import web

from watcher.simulator.clock import ScenarioClock
from watcher.simulator.faults import Faults, parse_fault
from watcher.simulator.instance import Instance
from watcher.simulator.scenario import (
    NoticeIssued,
    NoticeWithdrawn,
    RebalanceRecommended,
    ScenarioError,
    SpotAction,
    seconds,
    spot_action,
)
from watcher.simulator.tokens import Tokens

PREFIX = "/simulator/"
FAULT_FIELDS = ("kind", "status", "path_prefix", "count", "for_s", "delay_s")


class Control:
    """Handlers under ``/simulator/``. Each raises ScenarioError for input that it refuses."""

    def __init__(
        self, clock: ScenarioClock, instance: Instance, tokens: Tokens, faults: Faults
    ) -> None:
        self._clock = clock
        self._instance = instance
        self._tokens = tokens
        self._faults = faults

    def routes(self) -> list[web.RouteDef]:
        """List the routes; the last one takes what is left under the prefix."""
        return [
            web.post(PREFIX + "notice", self.issue_notice),
            web.post(PREFIX + "rebalance", self.recommend_rebalance),
            web.post(PREFIX + "withdraw", self.withdraw_notice),
            web.post(PREFIX + "fault", self.add_fault),
            web.delete(PREFIX + "fault", self.lift_faults),
            web.route("*", PREFIX + "{path:.*}", self.refuse_unknown),
        ]

    async def issue_notice(self, request: web.Request) -> web.Response:
        """Mark the instance now, in place of an earlier notice; answer with what is in force."""
        fields = await _fields(request, ("action", "window_s"))
        action = spot_action(fields.get("action", SpotAction.TERMINATE))
        window_s = seconds("window_s", fields.get("window_s", action.window_s))
        at_s = self._clock.elapsed_s()
        self._instance.apply(NoticeIssued(at_s=at_s, action=action, window_s=window_s))
        return self._in_force()

    async def recommend_rebalance(self, request: web.Request) -> web.Response:
        """Recommend a rebalance now."""
        await _fields(request, ())
        self._instance.apply(RebalanceRecommended(at_s=self._clock.elapsed_s()))
        return self._in_force()

    async def withdraw_notice(self, request: web.Request) -> web.Response:
        """Take the notice back; the rebalance recommendation stays, as at EC2."""
        await _fields(request, ())
        self._instance.apply(NoticeWithdrawn(at_s=self._clock.elapsed_s()))
        return self._in_force()

    async def add_fault(self, request: web.Request) -> web.Response:
        """Put a fault in force, or expire all tokens, which happens once and at once."""
        fields = await _fields(request, FAULT_FIELDS)
        if fields == {"kind": "expire_tokens"}:
            self._tokens.expire_all()
        elif fields.get("kind") == "expire_tokens":
            raise ScenarioError("expire_tokens happens at once and takes no other field")
        else:
            self._faults.add(parse_fault(fields))
        return self._in_force()

    async def lift_faults(self, _request: web.Request) -> web.Response:
        """Lift all faults."""
        self._faults.clear()
        return self._in_force()

    async def refuse_unknown(self, request: web.Request) -> web.Response:
        """Refuse what is no control, which would look like a path of the cloud's otherwise."""
        known = "POST notice, rebalance, withdraw, fault; DELETE fault; GET requests"
        raise ScenarioError(f"{request.method} {request.path} is no control; there are {known}")

    def _in_force(self) -> web.Response:
        mark = self._instance.mark()
        notice = None if mark is None else {"action": mark.action, "time": mark.time}
        return web.json_response(
            {"notice": notice, "rebalance_notice_time": self._instance.rebalance_time()}
        )


async def _fields(request: web.Request, known: Collection[str]) -> dict[str, object]:
    """Read a JSON object whose keys are all ``known``; no body at all is an empty object.

    Raises:
        ScenarioError: It is not one.
    """
    body = await request.read()
    try:
        fields = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise ScenarioError(f"the body is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise ScenarioError(f"the body must be a JSON object, not {type(fields).__name__}")
    unknown = sorted(fields.keys() - set(known))
    if unknown:
        raise ScenarioError(f"unknown field {unknown[0]!r}; known: {', '.join(known) or 'none'}")
    return fields
