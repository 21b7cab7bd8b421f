"""Questions by mail: to whom, and what the link in it lets its reader do."""

import re
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.core import mail
from django.test import Client
from pytest_django import Settings

from agui_host.backends.postgres import clock
from agui_host.teams.models import AuditEntry, Membership
from runs.access.notices import digest, questions
from runs.access.notices import mail as mails
from runs.models import Interrupt, InterruptStatus, MailChoice, MailedLink, Run, Thread
from tests.cast import Actor, Cast, cast
from tests.runs.asking import APPROVAL, asking, interrupted, question

__all__ = ["cast"]
pytestmark = pytest.mark.django_db


def browser_of(actor: Actor) -> Client:
    client = Client(headers={"accept": "text/html"})
    client.force_login(actor.user)
    return client


def wants(actor: Actor) -> Client:
    """This person's browser, once they have turned the mails on."""
    address = f"{actor.user.username}@example.com"
    EmailAddress.objects.create(user=actor.user, email=address, verified=True, primary=True)
    browser = browser_of(actor)
    assert browser.post("/inbox/mail", {"mail": "on"}).status_code == 302
    return browser


def send() -> list[str]:
    """What a worker mails; the texts, by address."""
    taken = questions.take()
    written = mails.written(taken[0].team, taken) if taken else []
    mail.get_connection().send_messages(written)
    return [f"{message.to[0]} {message.subject}\n{message.body}" for message in written]


def link_in(text: str) -> str:
    return re.findall(r"(/inbox/mail/[\w-]{43}/)", text)[0]


def approval(actor: Actor, thread: str = "t") -> Interrupt:
    run = interrupted(
        actor, question("i", message="Pay 4 dollars?", responseSchema=APPROVAL), thread=thread
    )
    return Interrupt.objects.get(run=run)


def test_who_gets_a_mail(cast: Cast) -> None:
    for actor in (cast.alice, cast.bob, cast.charlie):
        wants(actor)
    assert browser_of(cast.vera).post("/inbox/mail", {"mail": "on"}).status_code == 403
    row = approval(cast.alice)
    Thread.objects.filter(pk=row.thread_id).update(visibility="private")
    (text,) = send()
    assert text.startswith(f"alice@example.com echo asks · {cast.team.name}\n")
    assert "Pay 4 dollars?" in text
    # At most one in a minute, and none when it is off.
    asking(cast.alice, "a", thread="2")
    assert [text.split()[0] for text in send()] == ["bob@example.com"]
    MailChoice.objects.update(last_at=None)
    browser_of(cast.bob).post("/inbox/mail", {"mail": "off"})
    asking(cast.alice, *"abcdefghijkl", thread="3")
    (text,) = send()
    assert "12 new questions" in text
    assert "There are 2 more in the inbox." in text


def test_an_address_that_nobody_has_confirmed(cast: Cast) -> None:
    page = browser_of(cast.alice).post("/inbox/mail", {"mail": "on"}, follow=True)
    assert "Confirm your e-mail address first." in page.content.decode()
    assert not MailChoice.objects.exists()


def test_the_link_takes_one_answer_without_a_sign_in(cast: Cast) -> None:
    wants(cast.alice)
    row = approval(cast.bob)
    link = link_in(send()[0])
    anyone = Client(headers={"accept": "text/html"})
    for _ in range(2):
        page = anyone.get(link)
        assert page.status_code == 200
        assert "Pay 4 dollars?" in page.content.decode()
        assert page.headers["Referrer-Policy"] == "strict-origin"
        assert "no-store" in page.headers["Cache-Control"]
    assert anyone.post(link, {"choice": "9"}).status_code == 422
    page = anyone.post(link, {"choice": "0"})
    assert "Your answer was sent" in page.content.decode()
    row.refresh_from_db()
    assert (row.status, row.answered_by) == (InterruptStatus.ANSWERED, "user:alice")
    assert Run.objects.get(answers=row).status == "queued"
    assert AuditEntry.objects.filter(action="question_mail.used", who="user:alice").count() == 1
    # Even once the question is open again.
    Interrupt.objects.filter(pk=row.pk).update(
        status="open", answer=None, answered_by="", answered_at=None, answering_run=None
    )
    for answer in (anyone.get(link), anyone.post(link, {"choice": "0"})):
        assert answer.status_code == 404
        assert "Pay 4 dollars?" not in answer.content.decode()


def expired(cast: Cast) -> None:
    MailedLink.objects.update(expires_at=clock.now() - timedelta(seconds=1))


def left(cast: Cast) -> None:
    Membership.objects.filter(user=cast.bob.user).delete()


def demoted(cast: Cast) -> None:
    Membership.objects.filter(user=cast.bob.user).update(role="viewer")


def hidden(cast: Cast) -> None:
    Thread.objects.update(visibility="private")


def protected(cast: Cast) -> None:
    Authenticator.objects.create(user=cast.bob.user, type="totp", data={})


@pytest.mark.parametrize("change", [expired, left, demoted, hidden, protected])
def test_rights_count_when_the_link_is_used(cast: Cast, change: Any) -> None:
    wants(cast.bob)
    row = approval(cast.alice)
    link = link_in(send()[0])
    change(cast)
    answer = Client(headers={"accept": "text/html"}).post(link, {"choice": "0"})
    assert answer.status_code in {403, 404}
    row.refresh_from_db()
    assert row.status == InterruptStatus.OPEN


def test_a_second_factor_is_not_passed_by(cast: Cast) -> None:
    wants(cast.alice)
    protected_user = Authenticator.objects.create(user=cast.alice.user, type="totp", data={})
    row = approval(cast.alice)
    (text,) = send()
    assert f"/runs/{row.run_id}/" in text
    assert "/inbox/mail/" not in text
    assert protected_user.pk


def test_links_are_stored_as_hashes_and_end(cast: Cast, settings: Settings) -> None:
    wants(cast.alice)
    approval(cast.alice)
    token = link_in(send()[0]).split("/")[3]
    assert token not in str(list(MailedLink.objects.values()))
    expired(cast)
    MailChoice.objects.update(last_at=None)
    approval(cast.alice, "2")
    send()
    assert MailedLink.objects.count() == 1
    assert Client().get("/inbox/mail/x/").status_code == 404


def test_all_that_waits_in_one_mail_a_day(cast: Cast) -> None:
    wants(cast.bob).post("/inbox/mail", {"mail": "daily"})
    asking(cast.alice, *"abcdefghijkl")
    assert send() == []
    assert digest.written() == []
    day = timedelta(days=2)
    MailChoice.objects.update(last_at=clock.now() - day)
    (message,) = digest.written()
    assert (message.to, message.subject) == (["bob@example.com"], "12 open questions · Acme")
    assert message.body.count("echo asks:") == 10
    assert "2 more open questions" in message.body
    # Once a day, and only where something waits.
    assert digest.written() == []
    Interrupt.objects.update(status="expired")
    MailChoice.objects.update(last_at=clock.now() - day)
    assert digest.written() == []
    assert "Stop the daily mail" in browser_of(cast.bob).get("/inbox/").content.decode()
