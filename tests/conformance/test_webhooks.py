"""The stock verifiers of Standard Webhooks, from npm and PyPI, judge what arrives at a receiver."""

import json
from typing import Any

import pytest
from pytest_django import Settings
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from agui_host.backends.postgres.bridge import db
from events.writer import JournalWriter
from runs.models.webhook import EVENTS
from runs.worker import deliveries
from tests.asgi import ask
from tests.cast import Cast, LiveRun, bell, cast, start, writer
from tests.conformance.node import ready_packages, run_node
from tests.runs.webhooks.receiver import BROKEN, delivering, hooked, receiving, statuses, until

__all__ = ["bell", "cast", "writer"]

pytestmark = pytest.mark.django_db(transaction=True)


def by_python(secret: str, headers: dict[str, str], body: str) -> Any:
    try:
        return Webhook(secret).verify(body.encode(), headers)
    except WebhookVerificationError:
        return None


async def test_what_arrives_is_genuine(
    packages: None,
    cast: Cast,
    writer: JournalWriter,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also while the secret is rotated; a forged body and another secret are refused."""
    monkeypatch.setattr(deliveries, "POLL", 0.05)
    settings.AGUI_OUTBOUND_ALLOW = ["127.0.0.1"]
    settings.AGUI_WEBHOOK_RETRIES = [0.01] * 9
    async with receiving(BROKEN, BROKEN, BROKEN) as receiver, delivering():
        hook = await hooked(cast.alice.headers, receiver.url, *EVENTS)
        rotated = await ask("POST", f"/api/v1/webhooks/{hook['id']}/rotate", cast.alice.headers)
        live = await LiveRun.begin(await db(start, cast.alice), writer)
        await live.end()
        await until(lambda: statuses() == ["delivered"] * 3)
    cases = [
        {"secret": secret, "headers": message.headers, "body": message.body.decode()}
        for message in receiver.messages
        for secret in (hook["secret"], rotated.json["secret"])
    ]
    forged = {**cases[0], "body": cases[0]["body"] + " "}
    stranger = {**cases[0], "secret": "whsec_" + "A" * 43 + "="}
    expected = [json.loads(case["body"]) for case in cases] + [None, None]
    script = str(ready_packages() / "webhooks.mjs")
    done = run_node([script], json.dumps([*cases, forged, stranger]))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == expected
    assert [by_python(**case) for case in [*cases, forged, stranger]] == expected
    ids = {message.headers["webhook-id"] for message in receiver.messages}
    assert (len(ids), len(receiver.messages)) == (3, 6)
