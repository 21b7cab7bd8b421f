"""Claims and snoozes of questions, by the API and in the inbox, and the inbox's filters."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from agui_host.backends.postgres import clock
from runs.access import inbox
from runs.models import Interrupt, Snooze, Thread
from tests.cast import Actor, Cast, cast
from tests.runs.asking import APPROVAL, interrupted, question

__all__ = ["cast"]
pytestmark = pytest.mark.django_db


def post(actor: Actor, row: Interrupt, verb: str, **body: Any) -> Any:
    address = f"/api/v1/interrupts/{row.pk}/{verb}"
    return Client(headers=actor.headers).post(address, body, content_type="application/json")


def browser_of(actor: Actor) -> Client:
    client = Client(headers={"accept": "text/html"})
    client.force_login(actor.user)
    return client


def page_of(actor: Actor, query: str = "") -> str:
    return browser_of(actor).get(f"/inbox/{query}").content.decode()


def asked(actor: Actor, text: str) -> Interrupt:
    run = interrupted(
        actor, question("i", message=text, responseSchema=APPROVAL), thread=text.partition(" ")[0]
    )
    return Interrupt.objects.get(run=run)


def test_a_claim_is_seen_by_colleagues_and_hinders_nobody(cast: Cast) -> None:
    row = asked(cast.alice, "Pay?")
    browser_of(cast.bob).post(f"/inbox/{row.pk}/claim", {"claimed": "yes"})
    assert "is answering this question" in page_of(cast.alice)
    assert "You are answering this question" in page_of(cast.bob)
    assert "Pay?" in page_of(cast.alice, "?show=claimed")
    answer = post(cast.alice, row, "claim")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "interrupt_claimed")
    assert post(cast.vera, row, "claim").status_code == 403
    assert post(cast.charlie, row, "claim").status_code == 404
    page = browser_of(cast.alice).post(f"/inbox/{row.pk}/claim", {"claimed": "yes"}, follow=True)
    assert "bob is answering this question." in page.content.decode()
    # It lapses, and ends when it is given up.
    Interrupt.objects.update(claimed_at=clock.now() - timedelta(minutes=16))
    assert post(cast.alice, row, "claim").json()["claimed_by"].startswith("key:")
    assert post(cast.alice, row, "claim", claimed=False).json()["claimed_by"] == ""
    assert post(cast.alice, row, "claim", by="bob").status_code == 422
    assert post(cast.bob, row, "claim").status_code == 200
    assert post(cast.alice, row, "answer", approved=True).status_code == 200
    assert post(cast.bob, row, "claim").json()["error"]["code"] == "interrupt_answered"


def test_a_snooze_is_for_one_person(cast: Cast) -> None:
    row = asked(cast.alice, "Pay?")
    browser = browser_of(cast.bob)
    browser.post(f"/inbox/{row.pk}/snooze", {"for": "hour"})
    assert "Pay?" not in page_of(cast.bob)
    assert "Pay?" in page_of(cast.bob, "?show=snoozed")
    assert "Pay?" in page_of(cast.alice)
    assert (inbox.count(cast.bob.principal), inbox.count(cast.alice.principal)) == (0, 1)
    browser.post(f"/inbox/{row.pk}/snooze", {"for": "", "show": "snoozed"})
    assert "Pay?" in page_of(cast.bob)
    soon = (clock.now() + timedelta(hours=1)).isoformat()
    assert post(cast.bob, row, "snooze", until=soon).status_code == 200
    listing = Client(headers=cast.bob.headers)
    for query, number in (("snoozed=true", 1), ("snoozed=false", 0), ("claimed=false", 1),
                          ("claimed=true", 0), ("agent=echo", 1), ("agent=other", 0)):  # fmt: skip
        results = listing.get(f"/api/v1/interrupts?{query}").json()["results"]
        assert len(results) == number, query
    Snooze.objects.update(until=clock.now() - timedelta(seconds=1))
    assert len(listing.get("/api/v1/interrupts?snoozed=false").json()["results"]) == 1


@pytest.mark.parametrize("until", ["2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z", "soon", 1])
def test_a_snooze_ends_within_a_month(cast: Cast, until: Any) -> None:
    row = asked(cast.alice, "Pay?")
    assert post(cast.alice, row, "snooze", until=until).status_code == 422
    assert post(cast.alice, row, "snooze").status_code == 422
    assert not Snooze.objects.exists()


def test_the_tabs(cast: Cast) -> None:
    mine, theirs = asked(cast.alice, "Mine?"), asked(cast.bob, "Theirs?")
    Thread.objects.filter(pk=mine.thread_id).update(creator=cast.alice.principal.actor_id)
    assert "Mine?" in page_of(cast.alice, "?show=mine")
    assert "Theirs?" not in page_of(cast.alice, "?show=mine")
    browser_of(cast.bob).post(f"/inbox/{theirs.pk}/answer", {"choice": "0"})
    assert "Theirs?" not in page_of(cast.alice)
    for actor, query, is_there in (
        (cast.alice, "?show=answered", True),
        (cast.bob, "?show=by-me", True),
        (cast.alice, "?show=by-me", False),
        (cast.charlie, "?show=answered", False),
        (cast.alice, "?show=answered&agent=other", False),
        (cast.alice, "?show=answered&agent=echo", True),
    ):
        assert ("Theirs?" in page_of(actor, query)) is is_there, query
    assert "Mine?" in page_of(cast.alice, "?show=%00nonsense&before=")
    assert "Mine?" in page_of(cast.alice, "?agent=%00ech%00o")
    Thread.objects.update(visibility="private")
    assert "Theirs?" not in page_of(cast.alice, "?show=answered")
