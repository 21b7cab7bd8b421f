"""Requests made up from the API's own description, with real ids: nothing fails, nothing surprises.

Every answer must be one that the description names, in the shape that it names; none is a 500; and
at least half of the requests succeed, so that what is tried is more than refusals.
"""

import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.acceptance.host import ROOT, Host

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

CASES = (600, pytest.param(3000, marks=pytest.mark.soak))
"""Bad values that chance rarely finds are in tables: tests/bounds, tests/runs/api and
tests/tenancy/test_hostile_values.py, which tries seven in each parameter and member."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
NO_LIMITS = {
    f"AGUI_LIMIT_{name}": "0"
    for name in ("RUNS_PER_MINUTE", "QUEUED_RUNS", "STORED_BYTES", "OPEN_STREAMS")
}


NOTHING = "0190a000-0000-7000-8000-000000000000"
NEW_AGENT = {"url": "https://agents.example.com/agui"}


class Things:
    """Real things to ask for, by the name that a path gives their id.

    What a request may use up is made anew for it; what reads takes any that there is.
    """

    def __init__(self, host: Host) -> None:
        self.host = host
        self.http = host.client()
        self.wrong: dict[str, str] = {}
        self.chance = random.Random(7)
        self.known: dict[str, list[str]] = {}
        run = host.begin(script=[{"text": "x"}])
        host.begin(agent="slow", forwardedProps={"steps": 2, "seconds": 600})
        host.wait_status(run["id"], "succeeded")
        self.run = run["id"]
        self.made = {
            "slug": self.agent,
            "key_id": self.key,
            "grant_id": self.grant,
            "comment_id": self.comment,
            "interrupt_id": self.interrupt,
            "key": self.thread,
            "invitation_id": self.invitation,
            "budget_id": self.budget,
            "alert_id": self.alert,
            "data_set_id": self.data_set,
        }

    def close(self) -> None:
        self.http.close()

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self.http.post(f"/api/v1/{path}", json=body)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def name(self) -> str:
        return f"n{self.chance.randrange(10**12)}"

    def agent(self) -> str:
        return str(self.post("agents", {"slug": self.name(), **NEW_AGENT})["slug"])

    def key(self) -> str:
        return str(self.post("keys", {"name": self.name()})["id"])

    def grant(self) -> str:
        return str(self.post("grants", {"run": self.run})["id"])

    def comment(self) -> str:
        return str(self.post(f"runs/{self.run}/comments", {"text": "x"})["id"])

    def invitation(self) -> str:
        """One of those that were made up before: a team may send a hundred a day."""
        return next(iter(self.ids("invitations")), NOTHING)

    def budget(self) -> str:
        """One that is there: a team may have so many."""
        body = {"scope": "team", "tokens": 10**12}
        return next(iter(self.ids("budgets")), "") or str(self.post("budgets", body)["id"])

    def alert(self) -> str:
        """One that is there: a team may have so many."""
        body = {"name": "a", "measure": "cost", "threshold": 10**9}
        return next(iter(self.ids("alerts")), "") or str(self.post("alerts", body)["id"])

    def data_set(self) -> str:
        """One that is there: a team may have so many."""
        body = {"name": self.name()}
        return next(iter(self.ids("datasets")), "") or str(self.post("datasets", body)["id"])

    def trial(self) -> str:
        """A new one of an empty data set."""
        empty = str(self.post("datasets", {"name": self.name()})["id"])
        return str(self.post(f"datasets/{empty}/trials", {"agent": "scripted"})["id"])

    def interrupt(self) -> str:
        run = self.host.begin(script=[{"interrupt": {"reason": "ok?"}}])["id"]
        self.host.wait_status(run, "interrupted")
        return self.ids("interrupts", run=run)[0]

    def thread(self) -> str:
        run = self.host.begin(script=[])
        self.host.wait_status(run["id"], "succeeded")
        return self.ids("threads", thread_id=run["thread_id"])[0]

    def ids(self, kind: str, **query: str) -> list[str]:
        rows = self.http.get(f"/api/v1/{kind}", params=query).json()["results"]
        return [str(row["slug" if kind == "agents" else "id"]) for row in rows]

    def some(self, names: list[str], *, used_up: bool) -> dict[str, Any]:
        """Path parameters; mostly of something that is there."""
        return {name: self.one(name, used_up=used_up) for name in names}

    def one(self, name: str, *, used_up: bool) -> Any:
        if name == "run_id":
            return self.run
        if name == "trial_id":
            self.known.setdefault(name, [self.trial()])
            return self.known[name][0]
        if name == "member_id":
            return self.ids("members")[0]
        if name not in self.made:
            return NOTHING
        if not used_up and name not in self.known:
            self.known[name] = self.ids(KINDS[name])
        if used_up or not self.known[name]:
            return self.made[name]()
        return self.chance.choice(self.known[name])


KINDS = {
    "slug": "agents",
    "key_id": "keys",
    "grant_id": "grants",
    "interrupt_id": "interrupts",
    "key": "threads",
    "invitation_id": "invitations",
    "budget_id": "budgets",
    "alert_id": "alerts",
    "data_set_id": "datasets",
}


@schemathesis.serializer("application/x-ndjson", "application/octet-stream")
def as_it_is(_: Any, value: Any) -> bytes:
    """Bodies of formats that are no JSON: whatever text was made up."""
    return str(value).encode()


@pytest.fixture
def host(new_host: Callable[..., Host]) -> Host:
    return new_host(**NO_LIMITS)


def real(case: Any, things: Things) -> None:
    """Put real names where the description can only say "a string"."""
    (case.headers or {}).pop("X-AGUI-User", None)  # nobody signs one, either
    if case.query:
        case.query.pop("cursor", None)  # nobody makes one up
        for name in ("run", "thread"):
            if name in case.query:
                case.query[name] = things.run
    body = case.body if isinstance(case.body, dict) else {}
    match case.operation.path:
        case "/api/v1/grants" if body:
            for name in ("thread", "member", "team", "run"):
                body.pop(name, None)
            body["run"] = things.run
        case "/api/v1/agents" if body:
            body |= {"slug": things.name(), **NEW_AGENT}
        case "/api/v1/runs" if body:
            body.pop("agent", None)
            if things.chance.random() < 0.8:
                body["input"] = {"messages": []}


def test_the_description_is_the_same_in_every_process() -> None:
    """Whoever generates a client from it sees a change only when there is one."""
    command = [sys.executable, "manage.py", "spectacular"]
    described = {
        subprocess.run(
            command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}, timeout=120,
            capture_output=True, check=True,
        ).stdout
        for seed in ("1", "3")
    }  # fmt: skip
    assert len(described) == 1
    assert b"openapi:" in described.pop()


@pytest.mark.parametrize("cases", CASES)
def test_requests_made_from_the_description(host: Host, cases: int) -> None:
    with closing(Things(host)) as things:
        answers = ask_everything(things, cases)
    for label, statuses in answers.items():
        print(label, dict(statuses))
    counted = sum(answers.values(), Counter())
    good = sum(times for status, times in counted.items() if status < 300)
    print(f"{counted.total()} cases, {good} with a 2xx: {dict(counted)}")
    assert things.wrong == {}
    assert counted.total() >= cases
    assert good >= counted.total() / 2


def ask_everything(things: Things, cases: int) -> dict[str, Counter[int]]:
    """Every operation equally often; the statuses of its answers."""
    schema = schemathesis.openapi.from_url(
        f"{things.host.url}/api/schema/?format=json", headers={"Accept": "application/json"}
    )
    operations = [result.ok() for result in schema.get_all_operations()]
    # The others start runs and stream them; tests/web/description asks each of those once.
    # Operators' addresses answer no key of a team: tests/apply asks them.
    operations = [
        each
        for each in operations
        if each.tags == ["api"] and not each.path.startswith("/api/v1/operator/")
    ]
    each = -(-cases // len(operations))
    return {operation.label: ask(operation, things, each) for operation in operations}


def ask(operation: Any, things: Things, times: int) -> Counter[int]:
    """Make up ``times`` requests of one operation; the statuses of the answers."""
    statuses: Counter[int] = Counter()
    names = [parameter.name for parameter in operation.path_parameters]
    things.known.clear()  # one operation may delete what another finds
    used_up = operation.method.upper() not in ("GET", "PUT")

    @settings(
        max_examples=times,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    # One strategy for all cases: making it takes longer than a request.
    @given(operation.as_strategy(path_parameters=dict.fromkeys(names, NOTHING) or None))
    def one(case: Any) -> None:
        if names:
            case.path_parameters = things.some(names, used_up=used_up)
        real(case, things)
        answer = case.call(base_url=things.host.url, headers=things.host.headers)
        statuses[answer.status_code] += 1
        try:
            case.validate_response(answer, checks=CHECKS)
        except BaseExceptionGroup as failures:
            things.wrong[operation.label] = str(failures)

    one()
    return statuses
