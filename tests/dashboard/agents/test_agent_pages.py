"""The pages of a team's agents: figures that lead to their runs, trying, changing, deleting."""

import csv
import io
import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agui_host.dashboard.agents import figures
from agui_host.runtimes import team_agents
from agui_host.runtimes.models import Agent, AgentVersion
from runs.lifecycle.usage import rollup
from runs.models import Run, Thread, Visibility
from tests.cast import Actor, Cast, Register, register, start
from tests.dashboard.conftest import SURE, Browse
from tests.dashboard.overview.test_overview import LINK, rows_of
from tests.runs.jobs import FAILED, FINISHED
from tests.runs.usage.test_usage import run_of

__all__ = ["register"]

pytestmark = pytest.mark.django_db(transaction=True)
REMOTE = {"slug": "far", "url": "https://agents.example.com/agui"}


def page(client: Client, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status
    return answer.content.decode()


@pytest.fixture
def busy(cast: Cast, register: Register) -> Cast:
    other = register("other", lambda ctx: ctx.text)
    for days in (0, 1, 6, 9):
        at = timezone.now() - timedelta(days=days)
        run_of(cast.alice, cast.echo, FINISHED, at)
        run_of(cast.bob, other, FAILED, at)
    run_of(cast.alice, other, None)
    hidden = run_of(cast.bob, other, FAILED)
    Thread.objects.filter(pk=hidden.thread_id).update(
        visibility=Visibility.PRIVATE, creator=cast.bob.principal.actor_id
    )
    return cast


@pytest.mark.parametrize("is_added_up", [False, True])
@pytest.mark.parametrize("address", ["/agents/", "/agents/other/", "/agents/echo/"])
def test_each_number_leads_to_its_runs(
    busy: Cast, browse: Browse, address: str, is_added_up: bool
) -> None:
    if is_added_up:
        rollup.run_once(60)
    for visitor in (busy.alice, busy.bob):
        client = browse(visitor)
        links = LINK.findall(page(client, address))
        assert len(links) >= 2
        for target, number in links:
            assert len(rows_of(client, target)) >= int(number.replace(",", "")), target
            if "agent_version" not in target:  # Versions count the runs that have ended.
                assert len(rows_of(client, target)) == int(number.replace(",", "")), target


def test_a_long_list_has_pages(busy: Cast, browse: Browse) -> None:
    """``echo`` and ``other``, whose figures stand on different pages, with 60 agents between."""
    Agent.objects.bulk_create(
        Agent(team=busy.team, slug=f"mid-{number:02}", name="M") for number in range(60)
    )
    client = browse(busy.alice)
    first = page(client, "/agents/")
    assert first.count('<th scope="row">') == 50
    assert 'href="?page=2"' in first
    second = page(client, "/agents/?page=2")
    slugs = re.findall(r'<th scope="row"><a href="/agents/([^/]+)/', first + second)
    assert slugs == sorted(Agent.objects.for_team(busy.team).values_list("slug", flat=True))
    assert "page=3" not in second
    for text, slug in ((first, "echo"), (second, "other")):
        assert f'href="/runs/?agent={slug}&amp;since=' in text


def test_the_agents_are_a_file(busy: Cast, browse: Browse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "ROWS", 1)
    Agent.objects.filter(slug="echo").update(name="+Echo")
    answer = browse(busy.vera).get("/agents/?format=csv")
    assert answer["content-type"] == "text/csv; charset=utf-8"
    rows = {row["agent"]: row for row in csv.DictReader(io.StringIO(answer.content.decode()))}
    assert rows.keys() == set(Agent.objects.for_team(busy.team).values_list("slug", flat=True))
    assert rows["echo"]["name"] == "'+Echo"
    assert int(rows["echo"]["runs"]) > 0


def test_the_list_names_every_agent_with_its_state(busy: Cast, browse: Browse) -> None:
    team_agents.create(busy.alice.principal, REMOTE)
    team_agents.change(busy.alice.principal, "far", {"enabled": False, "name": "<b>x</b>" * 15})
    text = page(browse(busy.vera), "/agents/")
    assert re.findall(r'href="/agents/(\w+)/"', text) == ["echo", "far", "other"]
    assert "&lt;b&gt;x&lt;/b&gt;" in text
    assert "<b>x" not in text
    assert text.count(">disabled<") == 1
    assert "never" in text
    assert busy.echo.version in text
    assert "Connect an agent" not in text
    assert "Connect an agent" in page(browse(busy.alice), "/agents/")
    assert "other" not in page(browse(busy.charlie), "/agents/")


def test_the_number_of_queries_does_not_grow(
    busy: Cast, browse: Browse, register: Register
) -> None:
    client = browse(busy.alice)
    counts = []
    for n in range(2):
        for address in ("/agents/", "/agents/other/"):
            with CaptureQueriesContext(connection) as queries:
                page(client, address)
            counts.append(len(queries))
        for m in range(10):
            run_of(busy.alice, register(f"more-{n}-{m}", lambda ctx: ctx.text), FINISHED)
            run_of(busy.alice, Agent.objects.get(team=busy.team, slug="other"), FINISHED)
    assert counts[:2] == counts[2:]


def test_before_and_after_a_new_version(busy: Cast, browse: Browse) -> None:
    echo = busy.echo
    old = echo.version
    echo.settings = {"v": 2}
    echo.save()
    run_of(busy.alice, echo, FAILED)
    text = page(browse(busy.vera), "/agents/echo/")
    assert f"Since version <code>{echo.version}</code>, compared with <code>{old}</code>" in text
    assert "<strong>0 % → 100 %</strong>" in text
    assert "<strong>$1.00 → $1.00</strong>" in text
    assert re.findall(r"<code>(\w{12})</code></a>(?: <span[^>]*>(\w+))?", text) == [
        (echo.version, "current"),
        (old, ""),
    ]


def test_an_agent_of_ten_thousand_versions_and_one_without_runs(cast: Cast, browse: Browse) -> None:
    team_agents.create(cast.alice.principal, REMOTE | {"description": "x\n" * 4_000})
    row = team_agents.find(cast.alice.principal, "far")
    AgentVersion.objects.of_any_team().bulk_create(
        AgentVersion(team=cast.team, agent=row, version=f"{n:012x}", first_seen_at=row.created_at)
        for n in range(10_000)
    )
    client = browse(cast.vera)
    text = page(client, "/agents/far/")
    assert "It has no runs yet." in text
    assert "Since version" not in text
    assert len(re.findall(r"agent_version=\w{12}\"><code>", text)) == 10
    [older] = re.findall(r'href="(\?before=\d+#versions)"', text)
    second = page(client, f"/agents/far/{older}")
    assert not set(re.findall(r"agent_version=(\w{12})", text)) & set(
        re.findall(r"agent_version=(\w{12})", second)
    )
    assert "There are no older versions." in page(client, "/agents/far/?before=1")
    for wrong in ("x", "-1", "9" * 40, "%D9%A3"):
        page(client, f"/agents/far/?before={wrong}", 400)


def test_trying_an_agent_starts_a_run_and_shows_it(cast: Cast, browse: Browse) -> None:
    client = browse(cast.bob)
    assert 'id="try"' in page(client, "/agents/echo/")
    answer = client.post("/agents/echo/try", {"message": "Is it there?"})
    run = Run.objects.get(team=cast.team)
    assert answer.headers["location"] == f"/runs/{run.pk}/"
    assert (run.asked, run.started_by, run.agent.slug) == ("Is it there?", "user:bob", "echo")
    assert "Is it there?" in page(client, "/agents/echo/")


@pytest.mark.parametrize("text", ["", " \n", "a\0b", "x" * 100_001])
def test_a_message_that_cannot_be_sent_is_kept(cast: Cast, browse: Browse, text: str) -> None:
    answer = browse(cast.bob).post("/agents/echo/try", {"message": text})
    assert answer.status_code == 422
    assert 'role="alert"' in answer.content.decode()
    assert not Run.objects.for_team(cast.team).exists()


def test_who_cannot_try(cast: Cast, browse: Browse) -> None:
    assert 'id="try"' not in page(browse(cast.vera), "/agents/echo/")
    post = {"message": "Hi"}
    assert browse(cast.vera).post("/agents/echo/try", post).status_code == 403
    assert browse(cast.charlie).post("/agents/far/try", post).status_code == 404
    team_agents.create(cast.alice.principal, {"slug": "fed", "kind": "external"})
    text = page(browse(cast.alice), "/agents/fed/")
    assert 'id="try"' not in text
    assert "Producer-Seq" in text
    team_agents.change(cast.alice.principal, "echo", {"enabled": False})
    assert 'id="try"' not in page(browse(cast.alice), "/agents/echo/")
    assert browse(cast.alice).post("/agents/echo/try", post).status_code == 404


def test_the_snippets_have_the_address_of_the_host(
    cast: Cast, browse: Browse, settings: Any
) -> None:
    settings.AGUI_PUBLIC_URL = "https://host.example.org"
    text = unescape(page(browse(cast.vera), "/agents/echo/"))
    assert text.count("https://host.example.org/agui/agent/echo/run") == 3


ACTS = ("switch", "remove", "test", "change")


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("visitor", ["bob", "vera"])
def test_members_read_and_do_not_change(cast: Cast, browse: Browse, visitor: str, act: str) -> None:
    team_agents.create(cast.alice.principal, REMOTE)
    person: Actor = getattr(cast, visitor)
    text = page(browse(person), "/agents/far/")
    assert f'/agents/far/{act}"' not in text
    answer = browse(person).post(f"/agents/far/{act}", {"enabled": "no", **SURE})
    assert answer.status_code == 403
    assert team_agents.find(cast.alice.principal, "far").enabled
    assert browse(cast.charlie).post(f"/agents/far/{act}", SURE).status_code == 404


def test_disable_and_enable(cast: Cast, browse: Browse) -> None:
    client = browse(cast.alice)
    for value, enabled in (("no", False), ("yes", True)):
        answer = client.post("/agents/echo/switch", {"enabled": value}, follow=True)
        assert answer.status_code == 200
        assert cast.echo.enabled is enabled


def test_delete_asks_and_keeps_the_runs(cast: Cast, browse: Browse) -> None:
    client, me = browse(cast.alice), cast.alice.principal
    team_agents.create(me, REMOTE)
    assert "Delete this agent?" in client.post("/agents/far/remove").content.decode()
    assert team_agents.find(me, "far")
    run = start(cast.alice, team_agents.find(me, "far"))
    answer = client.post("/agents/far/remove", SURE, follow=True)
    assert "its runs stay" in answer.content.decode()
    assert Run.objects.filter(team=cast.team, pk=run.pk).exists()
    assert not team_agents.find(me, "far").enabled
    team_agents.create(me, REMOTE | {"slug": "near"})
    answer = client.post("/agents/near/remove", SURE, follow=True)
    assert "The agent near was deleted." in answer.content.decode()
    assert client.get("/agents/near/").status_code == 404
    # An operator's agent is switched off at most.
    assert client.post("/agents/echo/remove", SURE).status_code == 403


def change(client: Client, slug: str, **values: str) -> Any:
    """Send the form of the page back, with these values."""
    form = client.get(f"/agents/{slug}/change").context["form"]
    stored = {
        name: "" if form[name].value() is None else str(form[name].value()).replace("\n", "\r\n")
        for name in form.fields
        if form[name].value() is not False
    }
    return client.post(f"/agents/{slug}/change", stored | values)


def test_what_is_saved_without_changes_stays_as_it_is(cast: Cast, browse: Browse) -> None:
    me, client = cast.alice.principal, browse(cast.alice)
    team_agents.create(me, REMOTE | {"headers": {"A": "b"}, "settings": {"idle_seconds": 9}})
    options = [{"name": "redact", "patterns": ["email"]}, {"name": "citations"}]
    schema = {"type": "object", "description": "é"}
    values = {"name": "Fär €", "description": "a\nb", "state_schema": schema}
    team_agents.change(me, "far", {"middleware": options, **values})
    before = team_agents.find(me, "far")
    assert change(client, "far").status_code == 302
    after = team_agents.find(me, "far")
    for field in Agent._meta.concrete_fields:
        assert getattr(after, field.attname) == getattr(before, field.attname), field.name
    assert client.get("/agents/far/change").content.count(b"Stored: A.") == 1


def test_change_everything_that_a_form_has(cast: Cast, browse: Browse) -> None:
    me, client = cast.alice.principal, browse(cast.alice)
    team_agents.create(me, REMOTE | {"headers": {"A": "b", "C": "d"}})
    before = team_agents.find(me, "far").version
    answer = change(
        client, "far", name="New", description="Does it.", url="https://agents.example.com/new",
        headers="A:\nX-Key: secret value", protocol="0.x", on_busy="enqueue", timeout_seconds="60",
        worker_grace="2.5",
        middleware='redact {"patterns": ["email"]}\ncitations', context_providers="wisdom",
        is_default="on", is_tool="on",
        state_schema='{"type": "object",\r\n "required": ["a"]}', on_bad_state="note",
    )  # fmt: skip
    assert answer.status_code == 302
    row = team_agents.find(me, "far")
    assert (row.name, row.description, row.on_busy) == ("New", "Does it.", "enqueue")
    assert row.unsealed()["headers"] == {"C": "d", "X-Key": "secret value"}
    assert (row.timeout_seconds, row.settings, row.is_default, row.is_tool) == (
        60, {"protocol": "0.x"}, True, True,
    )  # fmt: skip
    assert row.worker_grace == 2.5
    assert "its runs have 2.5 s" in page(client, "/agents/far/")
    assert row.middleware == [{"name": "redact", "patterns": ["email"]}, {"name": "citations"}]
    assert row.context_providers == [{"name": "wisdom"}]
    assert (row.state_schema, row.on_bad_state) == ({"type": "object", "required": ["a"]}, "note")
    assert row.version != before
    assert "secret value" not in page(client, "/agents/far/change")
    nothing = {"middleware": "", "context_providers": "", "state_schema": ""}
    assert change(client, "far", **nothing).status_code == 302
    row = team_agents.find(me, "far")
    assert (row.middleware, row.context_providers, row.state_schema) == ([], [], None)


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("name", "", "required"),
        ("name", "x" * 121, "at most 120"),
        ("url", "http://127.0.0.1/", "public"),
        ("url", "javascript:alert(1)", "begin with http"),
        ("headers", "no colon", "each header in a line"),
        ("headers", "Host: x", "cannot be set"),
        ("headers", "\n".join(f"A{n}: x" for n in range(21)), "at most 20"),
        ("middleware", "nonsense", "one of: citations"),
        ("middleware", "redact {", "redact"),
        ("middleware", "redact [1]", "as JSON"),
        ("middleware", 'x {"name": "log"}', "as JSON"),
        ("middleware", "\n".join(["citations"] * 21), "at most 20"),
        ("middleware", "redact " + 400 * "[" + 400 * "]", "redact"),
        ("context_providers", "x" * 20_001, "at most 20"),
        ("state_schema", "{", "JSON"),
        ("state_schema", '{"type": "string"}', "schema of an object"),
        ("on_bad_state", "perhaps", "perhaps"),
        ("timeout_seconds", "-1", "0.1"),
        ("timeout_seconds", "nan", "number"),
        ("worker_grace", "-1", "0"),
        ("worker_grace", "86401", "86400"),
        ("on_busy", "perhaps", "perhaps"),
    ],
)
def test_a_change_that_is_refused_is_shown_with_its_reason(
    cast: Cast, browse: Browse, field: str, value: str, problem: str
) -> None:
    me, client = cast.alice.principal, browse(cast.alice)
    team_agents.create(me, REMOTE)
    before = team_agents.find(me, "far")
    answer = change(client, "far", **{field: value})
    assert answer.status_code == 422
    alerts = re.findall(r'role="alert"[^>]*>([^<]*)<', unescape(answer.content.decode()))
    assert any(problem in alert for alert in alerts), alerts
    after = team_agents.find(me, "far")
    assert (after.version, after.name) == (before.version, before.name)


def test_an_operators_agent_has_no_field_for_its_address(cast: Cast, browse: Browse) -> None:
    client = browse(cast.alice)
    text = page(client, "/agents/echo/change")
    assert 'name="url"' not in text
    assert 'name="headers"' not in text
    assert change(client, "echo", description="Ours").status_code == 302
    assert cast.echo.description == "Ours"
    assert client.post(
        "/agents/echo/change", {"name": "E", "url": "https://x.example/"}
    ).status_code
    assert cast.echo.target == "echo"
