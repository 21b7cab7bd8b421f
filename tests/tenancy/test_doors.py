"""Every route of this host, tried by strangers: another team's data is not there for them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from django.urls import get_resolver
from django.utils import timezone
from pytest_django import Settings

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.knowledge import documents, notes
from agui_host.runtimes.models import Agent, Document, Wisdom
from agui_host.teams import keys
from agui_host.teams.access import invitations
from agui_host.teams.models import (
    ApiKey,
    GroupRule,
    Invitation,
    Membership,
    Role,
    TeamDomain,
)
from agui_host.web import routing
from agui_host.web.host_socket import methods, requests
from runs.access import comments, sharing
from runs.access.evaluation import data_sets
from runs.access.inspect import saved_views
from runs.access.schedules import manage
from runs.lifecycle import lifecycle
from runs.lifecycle.webhooks import signing
from runs.models import (
    Alert,
    Budget,
    Comment,
    Failure,
    File,
    Grant,
    Interrupt,
    Issue,
    IssueRun,
    Run,
    SavedView,
    Schedule,
    Trial,
    Webhook,
    WebhookDelivery,
)
from tests import machine_postgres
from tests.asgi import never_opens, watch
from tests.cast import Cast, gathered, set_stage, start
from tests.runs.asking import interrupted, question
from tests.runs.files.attaching import attached
from tests.suite.rows.kept_rows import KeptRows
from tests.suite.rows.rereading import Reread
from tests.tenancy.automation_doors import AUTOMATION
from tests.tenancy.doors import (
    ADMIN,
    ASGI,
    NEVER_OPENS,
    NOWHERE,
    RUN,
    SOCKETS,
    STAYS_OPEN,
    THREAD,
    Door,
)
from tests.tenancy.doors import DJANGO as OTHERS
from tests.tenancy.doors import (
    METHODS as CALLS,
)
from tests.tenancy.people_doors import PEOPLE
from tests.tenancy.routes import (
    OWN,
    Seen,
    asgi_routes,
    django_routes,
    filled,
    glance,
    http_router,
    knock,
)
from tests.web.calling import calling

DJANGO = OTHERS | AUTOMATION | PEOPLE
pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "alice-said-this-to-her-agent"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
NOT_ALLOWED = 405
STALE_FORM = "This form has expired"
REFUSED = (400, 401, 403, 404, NOT_ALLOWED)


@dataclass(frozen=True)
class House:
    """Alice's two runs, a question, a thread to lose, a key, a member; what the askers send."""

    cast: Cast
    run: Run
    queued: Run
    question: Interrupt
    spare: Run
    failed: Run
    key: ApiKey
    member: Membership
    comment: Comment
    grant: Grant
    expired: str
    invitation: Invitation
    document: Document
    wisdom: Wisdom
    delivery: WebhookDelivery
    schedule: Schedule
    budget: Budget
    issue: Issue
    alert: Alert
    trial: Trial
    view: SavedView
    file: File
    rule: GroupRule
    askers: dict[str, dict[str, str]]

    def url(self, door: Door, route: str) -> str:
        url = route if door.url is None else door.url
        return "/" + self.named(url)

    def named(self, text: str) -> str:
        return text.format(
            run=self.run.pk,
            queued=self.queued.pk,
            question=self.question.pk,
            asking=self.question.run_id,
            thread=self.run.thread_id,
            spare=self.spare.thread_id,
            failed=self.failed.pk,
            team=self.run.team_id,
            apikey=self.key.pk,
            member=self.member.pk,
            comment=self.comment.pk,
            grant=self.grant.pk,
            expired=self.expired,
            invitation=self.invitation.pk,
            document=self.document.pk,
            wisdom=self.wisdom.pk,
            webhook=self.delivery.webhook_id,
            delivery=self.delivery.pk,
            schedule=self.schedule.pk,
            budget=self.budget.pk,
            issue=self.issue.pk,
            alert=self.alert.pk,
            trial=self.trial.pk,
            dataset=self.trial.data_set_id,
            view=self.view.pk,
            file=self.file.pk,
            rule=self.rule.pk,
        )

    def body(self, door: Door) -> Any:
        """The door's body, its placeholders filled in."""
        if not isinstance(door.body, dict):
            return door.body
        return {k: self.named(v) if isinstance(v, str) else v for k, v in door.body.items()}

    def state(self) -> Any:
        """What must not change by anything a stranger does."""
        return glance(self)()


KEPT: KeptRows[House] = KeptRows()


@pytest.fixture
def house(transactional_db: None, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> House:
    """Built once, with a cast, ``house.cast``; each test finds its rows as they were then."""
    settings.AGUI_INVITATION_COOLDOWN = 0  # every asker invites the same address
    set_stage(monkeypatch)
    return KEPT.put_back() or KEPT.keep(built(gathered()))


def built(cast: Cast) -> House:
    message = {"role": "user", "content": SECRET}
    run = start(cast.alice, threadId=THREAD, runId=RUN, messages=[message])
    lifecycle.cancel(run)
    queued = start(cast.alice, threadId=f"{THREAD}-2", messages=[message])
    interrupted(cast.alice, question("i", message=SECRET), thread=f"{THREAD}-3")
    spare = start(cast.alice, threadId=f"{THREAD}-4")
    lifecycle.cancel(spare)
    failed = start(cast.alice, threadId=f"{THREAD}-5")
    lifecycle.cancel(failed)
    Failure.objects.create(team=cast.team, run=failed, details=f'{{"message": "{SECRET}"}}')
    Agent.objects.create(team=cast.team, slug="far", name="Far", kind="http", target=NOWHERE)
    row, revoked = keys.create_key(cast.team, "old", Role.OWNER)
    keys.revoke(row)
    askers: dict[str, dict[str, str]] = {
        "nobody": {},
        "revoked": {"authorization": f"Bearer {revoked}"},
        "stranger": {**cast.charlie.headers, **cast.charlie.cookie},
        "owner": {**cast.alice.headers, **cast.alice.cookie},
    }
    key = keys.create_key(cast.team, "spare", Role.OWNER)[0]
    member = Membership.objects.get(user=cast.bob.user)
    comment = comments.write(cast.alice.principal, run.pk, SECRET, None)
    grant, _ = sharing.share(cast.alice.principal, run, sharing.To(), sharing.Terms())
    late, token = sharing.share(cast.alice.principal, run, sharing.To(), sharing.Terms())
    Grant.objects.filter(pk=late.pk).update(expires_at=timezone.now())
    email = f"{SECRET}@example.com"
    invited = invitations.send(cast.team, email, Role.MEMBER, by="user:alice")[0]
    interrupt = Interrupt.objects.get()
    values = {"title": SECRET, "media_type": "text/plain", "text": SECRET}
    document = documents.upload(cast.alice.principal, values)
    wisdom = notes.write(cast.alice.principal, SECRET)
    webhook = Webhook.objects.create(
        team=cast.team, url=f"https://{SECRET}.example.com/", events=["thread.created"],
        secrets=signing.sealed(SECRET), created_by="x", creator="x",
    )  # fmt: skip
    delivery = WebhookDelivery.objects.create(
        team=cast.team, webhook=webhook, type="run.failed", status="failed", ended_at=timezone.now()
    )
    schedule = manage.create(
        cast.alice.principal,
        {"cron": "0 0 * * *", "input": {"messages": [{"role": "user", "content": SECRET}]}},
    )
    budget = Budget.objects.create(
        team=cast.team, scope="agent", of=SECRET, key=cast.echo.pk, unit="tokens", max=1,
        created_by="x",
    )  # fmt: skip
    issue = Issue.objects.create(
        team=cast.team, agent=cast.echo, fingerprint="f", error_code="x", message=SECRET
    )
    IssueRun.objects.create(team=cast.team, issue=issue, run=failed, at=timezone.now())
    alert = Alert.objects.create(
        team=cast.team, name=SECRET, measure="cost", threshold=1, window_hours=1, tell=[],
        created_by="x",
    )  # fmt: skip
    data_set = data_sets.create(cast.alice.principal, SECRET, [run.pk])
    trial = Trial.objects.create(
        team=cast.team, data_set=data_set, agent=SECRET[:20], created_by="x"
    )
    view = saved_views.create(
        cast.alice.principal, {"name": SECRET, "query": f"q={SECRET}", "shared": True}
    )
    file = attached(run, cast.alice.principal, f"{SECRET}.txt")
    TeamDomain.objects.create(team=cast.team, domain=f"{SECRET}.example.com".lower())
    rule = GroupRule.objects.create(team=cast.team, group=SECRET, created_by="x")
    return House(
        cast, run, queued, interrupt, spare, failed, key, member, comment, grant, token, invited,
        document, wisdom, delivery, schedule, budget, issue, alert, trial, view, file, rule,
        askers,
    )  # fmt: skip


def undeclared(routes: Iterable[str], doors: dict[str, Door]) -> list[str]:
    return [r for r in routes if r not in doors and not r.startswith(ADMIN)]


class TestDeclarations:
    def test_every_route_has_a_line_and_every_line_a_route(self) -> None:
        for routes, doors in (
            (list(django_routes(get_resolver())), DJANGO),
            (list(asgi_routes(http_router())), ASGI),
            (list(asgi_routes(routing.websocket())), SOCKETS),
        ):
            assert undeclared(routes, doors) == [], "say in doors.py what strangers get there"
            assert set(doors) <= set(routes), "no such route any more"

    def test_a_route_without_a_line_is_found(self) -> None:
        assert undeclared(["api/v1/secrets", "admin/x/", ""], DJANGO) == ["api/v1/secrets"]


def lacked(route: str, door: Door) -> list[str]:
    """The methods that a door does not declare, another one first with each route.

    HEAD has the view of GET, and OPTIONS has one everywhere. The start page's POST streams.
    """
    same = {"OPTIONS", "HEAD"} if "GET" in door.answers else {"OPTIONS"}
    names = [m for m in METHODS if m not in {*door.answers, *same} and (route, m) != ("", "POST")]
    first = [*DJANGO].index(route) % max(1, len(names))
    return names[first:] + names[:first]


async def check(house: House, route: str, door: Door, others: Sequence[str] = ()) -> None:
    """All askers try each method of the door, before which the owner tries the first of ``others``.

    A 405 names the methods that a view takes (``Allow``), from where the view looks them up, and
    Django's middleware refuses a form without its token before it looks for a view. Those of
    ``others`` that can have another answer are tried as well.
    """
    url = house.url(door, route)
    secrets = (
        SECRET,
        str(house.run.pk),
        str(house.queued.pk),
        str(house.question.pk),
        house.key.prefix,
        str(house.invitation.pk),
    )
    state = Reread(house.state)

    async def ask(method: str, *names: str) -> Seen:
        """The last answer. The stranger is the last of those who must not change anything."""
        before = await db(state)
        expected = door.answers.get("GET" if method == "HEAD" else method)
        for name in names:
            headers = {**house.askers[name], **door.headers}
            response = await knock(method, url, headers, house.body(door))
            what = f"{method} {url} by {name}: {response.status}"
            if expected is not None:
                assert response.status == getattr(expected, name), what
            elif method != "OPTIONS":
                assert response.status in REFUSED, what
            if name != "owner":
                assert not [word for word in secrets if word in response.text], what
            if name == "stranger":
                assert await db(state) == before, f"{method} {url} by {names}"
        return response

    left = [*others]
    while left:
        method = left.pop(0)
        answer = await ask(method, "owner")
        if answer.status == NOT_ALLOWED and answer.allow is not None:
            left, askers = [name for name in left if name in answer.allow], []
        elif STALE_FORM in answer.text:
            left, askers = [name for name in left if name in ("GET", "HEAD")], []
        else:
            askers = ["nobody", "revoked"]
        await ask(method, *askers, "stranger")
    if others:
        await ask("OPTIONS", "stranger")
        if "GET" in door.answers:
            await ask("HEAD", "stranger")
    for method in door.answers:
        await ask(method, *house.askers)


@pytest.mark.parametrize("route", DJANGO)
async def test_pages_and_resources(house: House, bell: None, route: str) -> None:
    door = DJANGO[route]
    await check(house, route, door, () if machine_postgres.is_chosen() else lacked(route, door))


@pytest.mark.parametrize("route", ASGI)
async def test_streams(house: House, bell: None, route: str) -> None:
    await check(house, route, ASGI[route])


@pytest.mark.parametrize("route", SOCKETS)
async def test_sockets(house: House, bell: None, route: str) -> None:
    door = SOCKETS[route]
    for name, headers in house.askers.items():
        if getattr(door.answers["WS"], name) == STAYS_OPEN:
            continue  # what it does there: ``test_requests_of_the_host_socket``
        if getattr(door.answers["WS"], name) == NEVER_OPENS:
            assert await never_opens(house.url(door, route), {**OWN, **headers})
            continue
        events, code = await watch(house.url(door, route), {**OWN, **headers})
        assert code == getattr(door.answers["WS"], name), name
        assert bool(events) == (code == 1000)


async def test_requests_of_the_host_socket(house: House, bell: None) -> None:
    before = await db(house.state)
    for name in ("stranger", "owner"):
        for method, (template, codes) in CALLS.items():
            params = {k: house.named(v) if isinstance(v, str) else v for k, v in template.items()}
            async with calling({**OWN, **house.askers[name]}) as peer:
                answer = await peer.answer(method, **params)
                code = answer.get("error", {}).get("data", {}).get("code", "")
                assert code == getattr(codes, name), f"{method} by {name}"
                if name == "stranger":
                    assert SECRET not in f"{answer} {peer.notes}", method
        if name == "stranger":
            assert await db(house.state) == before


def test_every_request_of_the_host_socket_has_a_line() -> None:
    assert set(CALLS) == {*methods.METHODS, *requests.AT_ONCE_METHODS}


async def test_the_operators_admin_only_leads_to_its_sign_in(house: House, bell: None) -> None:
    routes = [route for route in django_routes(get_resolver()) if route.startswith(ADMIN)]
    assert len(routes) > 20
    before = await db(house.state)
    for number, route in enumerate(routes):
        if route == "admin/login/" or "(?P<app_label>" in route:
            continue
        # Whoever is signed in gets further, if anyone does; nobody tries each tenth.
        for name in ("nobody", "stranger") if number % 10 == 0 else ("stranger",):
            address, headers = f"/{filled(route, house.run.pk)}", house.askers[name]
            response = await knock("GET", address, headers, None)
            assert response.status in (302, 404), f"{route} by {name}: {response.status}"
            assert SECRET not in response.text
            response = await knock("POST", address, headers, {})
            assert response.status in (302, 403, 404), f"{route} by {name}: {response.status}"
    assert await db(house.state) == before
