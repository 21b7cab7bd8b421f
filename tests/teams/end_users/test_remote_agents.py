"""A remote agent learns on whose behalf a run is, by a token that only it can check."""

import json
from typing import Any

import jwt
import pytest
from django.utils import timezone

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes import team_agents
from agui_host.runtimes.kinds import http
from agui_host.runtimes.models import Agent
from events.writer import JournalWriter
from tests.asgi import ask
from tests.cast import Cast, perform, start
from tests.runtimes.kinds.peers import FINISHED, STARTED, STREAM, Call, peer, text
from tests.teams.end_users.signed import Signing, start_as

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "a secret of this agent, and of no other"


def tokens(call: Call) -> list[str]:
    """The tokens of a request."""
    lines = (line.partition(": ") for line in call.head.split("\r\n"))
    return [value for name, _, value in lines if name.lower() == "agui-on-behalf-of"]


async def answering(call: Call) -> None:
    await call.raw(STREAM)
    await call.events(STARTED, *text("Done."), FINISHED)
    await call.chunk(b"")


async def remote(cast: Cast, url: str, **fields: Any) -> Agent:
    body = {"slug": "far", "url": url, **fields}
    answer = await ask("POST", "/api/v1/agents", cast.alice.headers, json=body)
    assert answer.status == 201, answer.body
    assert SECRET not in json.dumps(answer.json), "a secret is never shown"
    return await db(Agent.objects.for_team(cast.team).get, slug="far")


async def test_the_token_of_a_run(cast: Cast, writer: JournalWriter, settings: Any) -> None:
    settings.AGUI_OUTBOUND_ALLOW = ["127.0.0.1"]
    product = await db(Signing, cast.team)
    dora = await db(lambda: product.principal("42", name="Dora", email="d@example.com"))
    async with peer(answering) as far:
        agent = await remote(cast, far.url, on_behalf_of=SECRET)
        run = await db(lambda: start_as(dora, agent, threadId="t", runId="mine"))
        assert (await perform(run, writer)).status == "succeeded"
        own = await db(lambda: start(cast.alice, agent))
        assert (await perform(own, writer)).status == "succeeded"
        await db(team_agents.change, cast.alice.principal, "far", {"on_behalf_of": None})
        agent = await db(Agent.objects.for_team(cast.team).get, slug="far")
        last = await db(lambda: start_as(dora, agent, threadId="t"))
        assert (await perform(last, writer)).status == "succeeded"
        await http.close()
    [token] = tokens(far.calls[0])
    claims = jwt.decode(token, SECRET, ["HS256"], audience=far.url, issuer="agui-run-host")
    assert {name: claims[name] for name in ("sub", "name", "email", "act")} == {
        "sub": "42", "name": "Dora", "email": "d@example.com",
        "act": {"sub": f"key:{product.row.prefix}"},
    }  # fmt: skip
    assert (claims["thread_id"], claims["run_id"]) == ("t", "mine")
    assert 0 < claims["exp"] - timezone.now().timestamp() <= 300
    with pytest.raises(jwt.InvalidSignatureError):
        jwt.decode(token, "x" * 32, ["HS256"], audience=far.url)
    with pytest.raises(jwt.InvalidAudienceError):
        jwt.decode(token, SECRET, ["HS256"], audience="https://elsewhere.example.com/agent")
    assert tokens(far.calls[1]) == [], "a run of a person of the team is on nobody's behalf"
    assert tokens(far.calls[2]) == [], "without a secret there is no token"


async def test_another_origin_removes_the_secret(
    cast: Cast, writer: JournalWriter, settings: Any
) -> None:
    settings.AGUI_OUTBOUND_ALLOW = ["127.0.0.1"]
    product = await db(Signing, cast.team)
    dora = await db(lambda: product.principal("42"))
    async with peer(answering) as first, peer(answering) as second:
        await remote(cast, first.url, on_behalf_of=SECRET)
        await db(team_agents.change, cast.alice.principal, "far", {"url": second.url})
        agent = await db(Agent.objects.for_team(cast.team).get, slug="far")
        run = await db(lambda: start_as(dora, agent, threadId="t"))
        assert (await perform(run, writer)).status == "succeeded"
        await http.close()
    assert first.calls == []
    assert [tokens(call) for call in second.calls] == [[]]


@pytest.mark.parametrize("secret", ["short", "x" * 31, 7, ["x" * 32]])
async def test_secrets_that_are_refused(cast: Cast, bell: None, secret: Any) -> None:
    body = {"slug": "far", "url": "https://agents.example.com/agui", "on_behalf_of": secret}
    answer = await ask("POST", "/api/v1/agents", cast.alice.headers, json=body)
    assert answer.status == 422
