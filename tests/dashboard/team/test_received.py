"""What other teams share: the page that lists it, its mail, and the number in the inbox."""

import pytest
from allauth.account.models import EmailAddress
from django.core import mail

from runs.access import sharing
from runs.access.notices import mail as by_mail
from runs.access.sharing import Terms, To
from runs.models import Grant, Run, Thread
from tests.asgi import ask_now
from tests.cast import Actor, Cast, start
from tests.dashboard.conftest import Browse

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/team/received/"
ASKED = "Who pays order 7?"


def asked(by: Actor, text: str = ASKED, thread: str = "t") -> Run:
    return start(by, threadId=thread, messages=[{"role": "user", "content": text}])


def reads(actor: Actor) -> None:
    EmailAddress.objects.create(
        user=actor.user, email=f"{actor.user.username}@example.com", verified=True, primary=True
    )
    by_mail.choose(actor.principal, by_mail.EACH)


def test_another_team_finds_what_was_shared_with_it(cast: Cast, browse: Browse) -> None:
    run = asked(cast.bob)
    sharing.share(cast.bob.principal, run, To(team=cast.other_team.pk), Terms())
    browser = browse(cast.charlie)
    page = browser.get(PAGE).content.decode()
    assert f'href="/runs/{run.pk}/"' in page
    assert ASKED in page
    assert "bob</bdi> of <bdi>Acme</bdi>" in page
    assert ">new</span>" in page
    assert '<span class="badge">1<' in browser.get("/inbox/").content.decode()
    rows = ask_now("GET", "/api/v1/grants?received=true", cast.charlie.cookie).json["results"]
    assert [(row["from_team"], row["to_team_name"]) for row in rows] == [("Acme", "Globex")]
    assert browser.get(f"/runs/{run.pk}/").status_code == 200
    assert ">new</span>" not in browser.get(PAGE).content.decode()
    assert str(run.pk) not in browse(cast.alice).get(PAGE).content.decode()
    Grant.objects.of_any_team().update(revoked_at="2026-01-01T00:00Z", revoked_by="user:bob")
    assert str(run.pk) not in browser.get(PAGE).content.decode()


def test_a_run_in_the_middle_of_a_thread_is_not_quoted(cast: Cast, browse: Browse) -> None:
    first = asked(cast.bob)
    Run.objects.filter(pk=first.pk).update(
        status="failed", error_code="error", ended_at="2026-01-01T00:00Z"
    )
    second = asked(cast.bob, "A secret follow-up")
    sharing.share(cast.bob.principal, second, To(team=cast.other_team.pk), Terms())
    page = browse(cast.charlie).get(PAGE).content.decode()
    assert f'href="/runs/{second.pk}/"' in page
    assert "secret" not in page


def test_the_receivers_get_a_mail_once_a_minute(cast: Cast) -> None:
    reads(cast.charlie)
    run = asked(cast.bob)
    thread = Thread.objects.get(pk=run.thread_id)
    for shared in (run, thread):
        sharing.share(cast.bob.principal, shared, To(team=cast.other_team.pk), Terms())
    (message,) = mail.outbox
    assert message.to == ["charlie@example.com"]
    assert message.subject == "bob of Acme shared a run with you"
    assert f"/runs/{run.pk}/" in message.body
    assert ASKED not in message.body
    sharing.share(cast.bob.principal, thread, To("charlie", cast.other_team.pk), Terms())
    assert [message.subject for message in mail.outbox[1:]] == [
        "bob of Acme shared a thread with you"
    ]


def test_who_wants_no_mail_gets_none(cast: Cast) -> None:
    run = asked(cast.bob)
    sharing.share(cast.bob.principal, run, To(team=cast.other_team.pk), Terms())
    sharing.share(cast.bob.principal, run, To(), Terms())
    assert mail.outbox == []


def test_a_team_reads_its_own_id_on_its_page(cast: Cast, browse: Browse) -> None:
    page = browse(cast.vera).get("/team/settings/").content.decode()
    assert f'readonly value="{cast.team.pk}"' in page
