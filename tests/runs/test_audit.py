"""What people do with runs is in their team's log."""

import json
import re

import pytest

from agui_host.teams.models import AuditEntry, Team
from runs.lifecycle import lifecycle
from tests.asgi import ask_now
from tests.cast import Cast, start
from tests.house import repository
from tests.house.repository import PACKAGES, ROOT
from tests.runs.asking import interrupted, question

SETTING_UP = ("session.started", "key.created")
pytestmark = pytest.mark.django_db(transaction=True)


def acts(team: Team) -> list[tuple[str, str, str]]:
    lines = AuditEntry.objects.for_team(team).exclude(action__in=SETTING_UP).order_by("id")
    return [(line.who, line.action, line.target) for line in lines]


def test_a_run_that_is_started_and_cancelled(cast: Cast) -> None:
    answer = ask_now("POST", "/api/v1/runs", cast.bob.headers, json={"input": {}})
    run = answer.json["id"]
    for _ in range(2):
        ask_now("POST", f"/api/v1/runs/{run}/cancel", cast.bob.headers)
    bob = f"key:{cast.bob.key_prefix}"
    assert acts(cast.team) == [(bob, "run.started", run), (bob, "run.cancelled", run)]
    assert acts(cast.other_team) == []


def test_a_refused_start_is_no_act(cast: Cast) -> None:
    first = start(cast.alice, threadId="t")
    with pytest.raises(lifecycle.ThreadBusy):
        start(cast.alice, threadId="t")
    assert acts(cast.team) == [("user:alice", "run.started", str(first.pk))]


def test_who_makes_way_is_cancelled_by_who_comes(cast: Cast) -> None:
    first = start(cast.alice, threadId="t")
    body = {"input": {"threadId": "t"}, "on_busy": "cancel_running"}
    ask_now("POST", "/api/v1/runs", cast.alice.headers, json=body)
    assert (f"key:{cast.alice.key_prefix}", "run.cancelled", str(first.pk)) in acts(cast.team)


@pytest.mark.parametrize("by_run", [True, False])
def test_an_answer_is_there_without_its_content(cast: Cast, by_run: bool) -> None:
    run = interrupted(cast.alice, question("i"), thread="t")
    interrupt = run.interrupts.get()
    if by_run:
        entry = {"interruptId": "i", "status": "resolved", "payload": "the secret"}
        body = {"input": {"threadId": "t", "resume": [entry]}}
        answer = ask_now("POST", "/api/v1/runs", cast.bob.headers, json=body)
    else:
        address = f"/api/v1/interrupts/{interrupt.pk}/answer"
        answer_body = {"status": "resolved", "payload": "the secret"}
        answer = ask_now("POST", address, cast.bob.headers, json=answer_body)
    assert answer.status in (200, 202)
    line = AuditEntry.objects.for_team(cast.team).get(action="interrupt.answered")
    assert (line.who, line.target) == (f"key:{cast.bob.key_prefix}", str(interrupt.pk))
    assert json.loads(line.details) == {"status": "resolved"}


def test_every_act_is_documented() -> None:
    named = set(re.findall(r"`([a-z_]+\.[a-z_]+)`", (ROOT / "docs" / "audit.md").read_text()))
    names = set()
    for path in repository.files():
        if path.parts[0] in PACKAGES and path.suffix == ".py":
            source = (ROOT / path).read_text()
            calls = re.findall(r"(?:record|audit\.line)\((.{,200})", source, re.DOTALL)
            acts = [re.search(r'"([a-z_]+\.[a-z_]+)"', call) for call in calls]
            names |= {act.group(1) for act in acts if act}
            # signals of the libraries, each with the act that it stands for (accounts/events.py)
            names |= set(re.findall(r'^    \(\w+\.\w+, "([a-z_]+\.[a-z_]+)"', source, re.MULTILINE))
    assert {"run.started", "session.started", "admin.changed"} <= names
    assert names - named == set()
