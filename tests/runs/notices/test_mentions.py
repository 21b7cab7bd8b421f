"""Mentions: a member who may see the run hears of one; of another, its author hears."""

import json
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from pytest_django import DjangoCaptureOnCommitCallbacks

from runs.lifecycle.webhooks.payloads import body, subjects
from runs.models import Comment, Mention, Run, Thread, Webhook, WebhookDelivery
from tests.cast import Actor, Cast, cast, start
from tests.runs.notices.test_mail import browser_of, wants

__all__ = ["cast"]
pytestmark = pytest.mark.django_db


def write(actor: Actor, run: Run, text: str) -> Any:
    address = f"/api/v1/runs/{run.pk}/comments"
    client = Client(headers=actor.headers)
    return client.post(address, {"text": text}, content_type="application/json").json()


def test_a_mention_is_in_the_inbox_and_mailed(
    cast: Cast, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    wants(cast.bob)
    run = start(cast.alice, threadId="t")
    with django_capture_on_commit_callbacks(execute=True):
        comment = write(cast.alice, run, "@bob @vera @charlie <b>look</b>")
    assert (comment["mentions"], comment["not_reached"]) == (["bob", "vera"], [])
    (message,) = mail.outbox
    assert message.to == ["bob@example.com"]
    assert f"/runs/{run.pk}/" in message.body
    page = browser_of(cast.bob).get("/inbox/mentions/").content.decode()
    assert "&lt;b&gt;look&lt;/b&gt;" in page
    for actor in (cast.alice, cast.charlie):
        assert "look" not in browser_of(actor).get("/inbox/mentions/").content.decode()
    Thread.objects.update(visibility="private", creator="")
    assert "look" not in browser_of(cast.bob).get("/inbox/mentions/").content.decode()


def test_the_author_learns_whom_a_mention_does_not_reach(
    cast: Cast, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    wants(cast.bob)
    run = start(cast.alice, threadId="t")
    me = cast.alice.principal.actor_id
    Thread.objects.filter(pk=run.thread_id).update(visibility="private", creator=me)
    with django_capture_on_commit_callbacks(execute=True):
        page = browser_of(cast.alice).post(
            f"/threads/{run.thread_id}/comment", {"run": str(run.pk), "text": "@bob"}, follow=True
        )
    assert "bob may not see this thread" in page.content.decode()
    assert not Mention.objects.exists()
    assert mail.outbox == []


def test_a_webhook_hears_of_a_comment_with_mentions_once(cast: Cast) -> None:
    hooks = [
        Webhook.objects.create(
            team=cast.team, url="https://example.com/", events=["mention.created"],
            contents=contents, created_by="user:bob", creator=cast.bob.principal.actor_id,
        )
        for contents in (False, True)
    ]  # fmt: skip
    run = start(cast.alice, threadId="t")
    write(cast.alice, run, "no one")
    comment = write(cast.alice, run, "@bob @vera look")
    by_hook = {row.webhook_id: row for row in WebhookDelivery.objects.all()}
    assert set(by_hook) == {hook.pk for hook in hooks}
    (subject,) = subjects(by_hook.values()).values()
    plain, whole = (
        json.loads(body(by_hook[hook.pk], subject, hook.contents) or b"") for hook in hooks
    )
    assert plain["type"] == "mention.created"
    assert plain["data"]["id"] == comment["id"]
    assert plain["data"]["mentions"] == ["bob", "vera"]
    assert plain["data"]["run"]["id"] == str(run.pk)
    assert "text" not in plain["data"]
    assert whole["data"]["text"] == "@bob @vera look"
    Comment.objects.all().delete()
    assert body(by_hook[hooks[0].pk], subject, False) is None
