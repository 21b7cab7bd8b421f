"""The daily mail: a person's open questions in a team, in place of a mail for each."""

from typing import Any

from django.core.mail import EmailMessage
from django.db import connection
from django.template.loader import render_to_string

from agui_host.backends.postgres import clock
from agui_host.links import absolute
from agui_host.teams.actors import user_id
from agui_host.teams.authentication import of_actor
from runs.access import inbox, sharing
from runs.access.notices import mail, mentions, turns
from runs.models import Interrupt, MailChoice

MOST = 20
"""People whose mails a worker writes at a time."""
SHOWN = 10
"""Questions that one mail shows."""
# Of two workers, one takes a person. Who has just got a mail is not due for a day.
TAKE = f"""
update runs_mailchoice choice set last_at = now()
  from (select id, last_at from runs_mailchoice
         where daily and last_at <= now() - interval '1 day'
         order by last_at limit {MOST} for update skip locked) due
 where choice.id = due.id
returning choice.id, due.last_at
"""  # noqa: S608  a constant of this module


def written() -> list[EmailMessage]:
    """The daily mails that are due, not yet sent; none for a person for whom nothing waits."""
    with connection.cursor() as cursor:
        cursor.execute(TAKE)
        before = dict(cursor.fetchall())
    rows = MailChoice.objects.already_found().filter(pk__in=before, user__is_active=True)
    mails = (
        _mail(row, before[row.pk]) for row in rows.select_related("team", "user").order_by("pk")
    )
    return [message for message in mails if message is not None]


def _mail(row: MailChoice, since: Any) -> EmailMessage | None:
    principal, address = of_actor(row.team, user_id(row.user_id)), mail.address_of(row.user_id)
    if principal is None or not address or not principal.can("view"):
        return None
    open_rows = turns.snoozed(principal, inbox.answerable(principal), is_so=False)
    waiting = list(open_rows.order_by("created_at")[: inbox.MOST])
    context = {
        "team": row.team,
        "questions": [_entry(question) for question in waiting[:SHOWN]],
        "more": len(waiting) - SHOWN,
        "mentions": mentions.of(principal).filter(created_at__gt=since).count(),
        "shares": sharing.received(principal).filter(created_at__gt=since).count(),
        "inbox": absolute("/inbox/"),
        "date": clock.now(),
    }
    if not (waiting or context["mentions"] or context["shares"]):
        return None
    count = f"{len(waiting)} open question{'' if len(waiting) == 1 else 's'}"
    subject = f"{count} · {' '.join(row.team.name.split())}"
    return EmailMessage(subject, render_to_string("email/digest.txt", context), None, [address])


def _entry(question: Interrupt) -> dict[str, str]:
    text = " ".join((question.message or question.reason)[: mail.SHOWN].split())
    link = absolute(f"/runs/{question.run_id}/")
    return {"agent": question.run.agent.slug, "text": text, "link": link}
