"""Questions by mail, with a link that takes its receiver's answer, once and for an hour."""

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.core.mail import EmailMessage
from django.db.models import Q
from django.template.loader import render_to_string

from agui_host.backends.postgres import clock, scope
from agui_host.errors import Conflict, Forbidden, NotFound
from agui_host.links import absolute
from agui_host.teams import audit
from agui_host.teams.access import members
from agui_host.teams.actors import user_id
from agui_host.teams.authentication import Principal, of_actor
from agui_host.teams.models import Team
from runs.access import inbox
from runs.models import Interrupt, MailChoice, MailedLink

TOKEN = re.compile(r"[\w-]{43}")
OFF, EACH, DAILY = "off", "on", "daily"
LIFETIME = timedelta(hours=1)
PAUSE = timedelta(minutes=1)
"""A person gets at most one mail of a team in this time."""
MOST = 10
"""Questions that one mail shows."""
SHOWN = 1_000
"""Characters of a question in a mail."""
INVALID = "This link is invalid, was used, or has expired. Sign in to answer."


class NoAddress(Conflict):
    """Confirm your e-mail address first."""

    code = "no_address"


@dataclass(frozen=True, slots=True)
class Entry:
    """A question in a mail, and where it is answered."""

    question: Interrupt
    text: str
    link: str


@dataclass(frozen=True, slots=True)
class Opened:
    """A link that was opened: its question and the person, with their present rights."""

    link: MailedLink
    principal: Principal


def choice(principal: Principal) -> str:
    """How the team's questions are mailed to this person: EACH, DAILY, or OFF."""
    rows = MailChoice.objects.for_team(principal.team).filter(user=principal.user_id)
    daily = rows.values_list("daily", flat=True).first()
    return OFF if daily is None else DAILY if daily else EACH


def choose(principal: Principal, how: str) -> None:
    """Mail questions of the team to the person, or no more. Raises Forbidden, NoAddress."""
    if principal.kind != "user" or principal.user_id is None:
        raise Forbidden("Only a person gets mail.")
    with members.holding(principal) as current:
        rows = MailChoice.objects.for_team(principal.team).filter(user=principal.user_id)
        if how == choice(principal):
            return
        rows.delete()
        if how != OFF:
            current.require("answer")
            if not address_of(principal.user_id):
                raise NoAddress
            # The first daily mail comes a day later, at this time of the day.
            MailChoice.objects.create(
                team=principal.team,
                user_id=principal.user_id,
                daily=how == DAILY,
                last_at=clock.now() if how == DAILY else None,
            )
        action = "question_mail.turned_off" if how == OFF else "question_mail.turned_on"
        audit.record(principal, principal.team, action, principal.name)


def written(team: Team, questions: Sequence[Interrupt]) -> list[EmailMessage]:
    """A mail to each person who wants these questions and may answer any of them, not yet sent."""
    now = clock.now()
    MailedLink.objects.for_team(team).filter(expires_at__lte=now).delete()
    rows = MailChoice.objects.for_team(team).filter(
        Q(last_at=None) | Q(last_at__lte=now - PAUSE), user__is_active=True, daily=False
    )
    mails = []
    for row in rows.select_related("user").order_by("pk"):
        principal = of_actor(team, user_id(row.user_id))
        address = address_of(row.user_id)
        if principal is None or not address:
            continue
        keys = inbox.answerable(principal).filter(pk__in=[question.pk for question in questions])
        theirs = set(keys.values_list("pk", flat=True))
        asked = [question for question in questions if question.pk in theirs]
        if asked:
            mails.append(_mail(team, principal, address, asked))
            MailChoice.objects.for_team(team).filter(pk=row.pk).update(last_at=now)
    return mails


def open_link(token: str) -> Opened:
    """The question of a mailed link. Raises NotFound."""
    row = None
    if TOKEN.fullmatch(token):
        rows = MailedLink.objects.by_secret().select_related("team", "user")
        row = rows.filter(token_hash=_hash(token), team__archived_at=None).first()
    if row is None or row.used_at is not None or row.expires_at <= clock.now():
        raise NotFound(INVALID)
    scope.reach(row.team_id)
    # A second factor is asked for at the sign-in only.
    principal = None if _has_factor(row.user_id) else of_actor(row.team, user_id(row.user_id))
    if principal is None:
        raise NotFound(INVALID)
    return Opened(row, principal)


def use(opened: Opened) -> None:
    """Use the link up; of two at once, the second finds it used. Raises NotFound."""
    rows = MailedLink.objects.for_team(opened.link.team).filter(
        pk=opened.link.pk, used_at=None, expires_at__gt=clock.now()
    )
    if not rows.update(used_at=clock.now()):
        raise NotFound(INVALID)
    audit.record(
        opened.principal, opened.link.team, "question_mail.used", str(opened.link.interrupt_id)
    )


def give_back(opened: Opened) -> None:
    """Let the link be used again: its answer was refused."""
    rows = MailedLink.objects.for_team(opened.link.team).filter(pk=opened.link.pk)
    rows.update(used_at=None)


def address_of(user: int) -> str:
    """A person's confirmed address, since mails contain what the team sees; empty for none."""
    rows = EmailAddress.objects.filter(user=user, verified=True).order_by("-primary", "pk")
    return str(rows.values_list("email", flat=True).first() or "")


def _mail(
    team: Team, principal: Principal, address: str, asked: Sequence[Interrupt]
) -> EmailMessage:
    entries = [_entry(principal, question) for question in asked[:MOST]]
    first = asked[0].run.agent.slug
    subject = f"{first} asks" if len(asked) == 1 else f"{len(asked)} new questions"
    context = {
        "team": team,
        "entries": entries,
        "more": len(asked) - len(entries),
        "signs_in": _has_factor(principal.user_id),
        "inbox": absolute("/inbox/"),
    }
    text = render_to_string("email/questions.txt", context)
    return EmailMessage(f"{subject} · {' '.join(team.name.split())}", text, None, [address])


def _entry(principal: Principal, question: Interrupt) -> Entry:
    text = (question.message or question.reason)[:SHOWN]
    if _has_factor(principal.user_id):
        return Entry(question, text, absolute(f"/runs/{question.run_id}/"))
    token = secrets.token_urlsafe(32)
    MailedLink.objects.create(
        team=question.team,
        interrupt=question,
        user_id=_person(principal),
        token_hash=_hash(token),
        expires_at=clock.now() + LIFETIME,
    )
    return Entry(question, text, absolute(f"/inbox/mail/{token}/"))


def _person(principal: Principal) -> int:
    assert principal.user_id is not None  # noqa: S101  a person's
    return principal.user_id


def _has_factor(user: int | None) -> bool:
    return bool(Authenticator.objects.filter(user=user).exists())


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
