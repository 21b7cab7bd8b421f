"""Stream tickets, which a browser puts into the URL of an EventSource or a WebSocket.

The ticket is the signed name of a row. A conditional update of that row makes sure that it opens
one stream only: PostgreSQL is there whenever a stream can be opened at all, Valkey can not be. The
signature stops forged tickets even from someone who has seen the table, and keeps guesses out of
the database.
"""

import json
from dataclasses import asdict
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.core import signing
from django.db import transaction
from django.db.models.functions import Now

from agui_host.backends.postgres import scope
from agui_host.errors import Forbidden, Unauthenticated
from agui_host.protocol.strict_json import dumps
from agui_host.security import requester
from agui_host.teams import authentication
from agui_host.teams.actors import EndUser
from agui_host.teams.authentication import Bound, Principal
from agui_host.teams.models import ApiKey, Role, StreamTicket
from agui_host.teams.tenancy import TeamQuerySet

OPENS_WITHIN = timedelta(seconds=60)
REOPENS_FOR = timedelta(minutes=15)
SWEPT = 100
_signer = signing.Signer(salt="teams.tickets")
_channel_signer = signing.Signer(salt="teams.tickets.channel")
"""A ticket for a thread only reads; a ticket signed for a channel can also stop its runs."""


class TicketRefused(Unauthenticated):
    """This ticket is invalid, expired or already used; get one from POST /api/v1/tickets."""

    code = "ticket_refused"


def mint(principal: Principal, bound: Bound) -> str:
    """A ticket for one stream of a run or thread; bound to neither, for one socket for everything.

    Raises Forbidden for a link or a ticket.
    """
    return _signer.sign(_row(principal, bound))


def mint_for_channel(principal: Principal, thread: UUID) -> str:
    """A ticket for one channel of a thread. Raises Forbidden for a link or a ticket."""
    return _channel_signer.sign(_row(principal, Bound(thread=thread)))


def _row(principal: Principal, bound: Bound) -> str:
    behind: dict[str, Any]
    if principal.kind == "key":
        row = ApiKey.objects.for_team(principal.team).only("pk").get(prefix=principal.key_prefix)
        end_user = principal.end_user and dumps(asdict(principal.end_user))
        behind = {"api_key": row, "end_user": end_user or ""}
    elif principal.kind == "user":
        behind = {"user_id": principal.user_id, "session_key": principal.session_key or ""}
    else:
        raise Forbidden("Only a person or an API key can get a ticket.")
    with transaction.atomic():
        _sweep()
        ticket = StreamTicket.objects.create(
            team=principal.team, run=bound.run, thread=bound.thread, **behind
        )
    return ticket.pk.hex


def redeem(text: str, run_id: UUID, *, again: bool) -> Principal:
    """The principal of this ticket; redeeming uses it up. Raises TicketRefused.

    The first use must come within OPENS_WITHIN of its making; ``again``, by a reader who has a
    cursor, within REOPENS_FOR of the first and for the same run. The database's clock counts.
    """
    rows, ticket, behind = _opened_by(text)
    if ticket.run is None and ticket.thread is None:
        raise TicketRefused
    principal = behind.as_ticket(Bound(ticket.run, ticket.thread))
    if _use_up(rows, opened_run=run_id):
        return principal
    if again and rows.filter(opened_run=run_id, opened_at__gt=Now() - REOPENS_FOR).exists():
        return principal
    raise TicketRefused


def redeem_for_socket(text: str) -> Principal:
    """The principal that opens a socket for everything, once, within OPENS_WITHIN.

    With a ticket for a socket it is the principal that got the ticket; with a run's or a thread's
    it may read that and nothing else. Raises TicketRefused.
    """
    rows, ticket, behind = _opened_by(text)
    if not _use_up(rows, opened_run=ticket.run):
        raise TicketRefused
    requester.identified(ticket.team_id)
    if ticket.run is None and ticket.thread is None:
        return behind
    return behind.as_ticket(Bound(ticket.run, ticket.thread))


def redeem_for_channel(text: str) -> tuple[Principal, UUID]:
    """The principal that opens a channel, once, within OPENS_WITHIN, and the thread that it is for.

    It has the rights there of the principal that got the ticket. Raises TicketRefused.
    """
    rows, ticket, behind = _opened_by(text, _channel_signer)
    if ticket.thread is None or not _use_up(rows, opened_run=None):
        raise TicketRefused
    requester.identified(ticket.team_id)
    return behind, ticket.thread


def _opened_by(
    text: str, signer: signing.Signer = _signer
) -> tuple[TeamQuerySet[StreamTicket], StreamTicket, Principal]:
    """The ticket, as a query and as a row, and its principal of today. Raises TicketRefused."""
    try:
        key = UUID(signer.unsign(text))
    except (signing.BadSignature, ValueError):
        raise TicketRefused from None
    rows = StreamTicket.objects.by_secret().filter(pk=key)
    ticket = rows.select_related("team", "user", "api_key").first()
    if ticket is not None:
        scope.reach(ticket.team_id)
    behind = authentication.refreshed(_behind(ticket)) if ticket else None
    if ticket is None or behind is None:
        raise TicketRefused
    return rows, ticket, behind


def _use_up(rows: TeamQuerySet[StreamTicket], *, opened_run: UUID | None) -> bool:
    fresh = rows.filter(opened_at=None, created_at__gt=Now() - OPENS_WITHIN)
    return bool(fresh.update(opened_at=Now(), opened_run=opened_run))


def _behind(ticket: StreamTicket) -> Principal:
    """The ticket's principal; ``refreshed`` has its current rights."""
    if ticket.api_key is not None:
        prefix = ticket.api_key.prefix
        return Principal(
            "key", prefix, ticket.team, Role.VIEWER, key_prefix=prefix, key_id=ticket.api_key.pk,
            end_user=EndUser(**json.loads(ticket.end_user)) if ticket.end_user else None,
        )  # fmt: skip
    assert ticket.user is not None  # noqa: S101  (ticket_of_somebody)
    name, session_key = ticket.user.get_username(), ticket.session_key or None
    return Principal(
        "user", name, ticket.team, Role.VIEWER, ticket.user.pk, session_key=session_key
    )


def _sweep() -> None:
    """Delete some expired tickets, skipping tickets that another request is deleting."""
    old = StreamTicket.objects.of_any_team().filter(
        created_at__lt=Now() - OPENS_WITHIN - REOPENS_FOR
    )
    keys = list(old.select_for_update(skip_locked=True).values_list("pk", flat=True)[:SWEPT])
    StreamTicket.objects.of_any_team().filter(pk__in=keys).delete()
