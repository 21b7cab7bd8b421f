"""The browsers that hear of questions: turned on and off by their person, read by the sender."""

import json
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from ipaddress import ip_address
from typing import NamedTuple

from agui_host.backends.postgres import scope
from agui_host.errors import Conflict, Forbidden
from agui_host.protocol.errors import Invalid
from agui_host.protocol.strict_json import dumps
from agui_host.security import web_push
from agui_host.security.addresses import allowed, check_url
from agui_host.security.secrets import seal, unseal
from agui_host.security.web_push import Keys
from agui_host.teams import audit
from agui_host.teams.access import members
from agui_host.teams.authentication import Principal, of_actor, refreshed
from agui_host.teams.models import Team
from runs.access import inbox
from runs.models import Interrupt, PushKey, PushSubscription

MOST = 10
"""Browsers of one person in one team."""
LONGEST_ENDPOINT = 1_000


class BrowsersFull(Conflict):
    """Ten of your browsers get notifications already; turn them off in another one first."""

    code = "browsers_full"


class Address(NamedTuple):
    """Where a browser's messages go, and the keys that only it can read them with."""

    endpoint: str
    keys: Keys


def sender_key() -> PushKey:
    """The installation's key pair, made when it is first needed."""
    with scope.everywhere():
        if (row := PushKey.objects.filter(pk=1).first()) is not None:
            return row
        private = web_push.new_private_key()
        PushKey.objects.bulk_create(
            [PushKey(pk=1, private=seal(private), public=web_push.public_key(private))],
            ignore_conflicts=True,  # Another process can be the first.
        )
        return PushKey.objects.get(pk=1)


def turn_on(principal: Principal, address: Address) -> None:
    """Tell this browser of questions until its session ends. Raises Forbidden, Invalid, Conflict.

    A browser that another person has used tells that person nothing from now on.
    """
    person, session = _session(principal)
    _check(address)
    with members.holding(principal) as current:
        current.require("answer")
        rows = PushSubscription.objects.for_team(principal.team)
        digest = _digest(address.endpoint)
        mine = rows.filter(user=person).exclude(digest=digest)
        if mine.count() >= MOST:
            raise BrowsersFull
        with scope.everywhere():
            rows_of_browser = PushSubscription.objects.by_secret().filter(digest=digest)
            is_new = not rows_of_browser.filter(user=person, team=principal.team).exists()
            rows_of_browser.exclude(user=person).delete()
        PushSubscription.objects.update_or_create(
            team=principal.team,
            digest=digest,
            defaults={
                "user_id": person,
                "session_key": session,
                "secrets": seal(dumps([address.endpoint, *address.keys])),
            },
        )
        if is_new:
            audit.record(principal, principal.team, "push.turned_on", principal.name)


def turn_off(principal: Principal, endpoint: str) -> None:
    """Tell this browser of no more questions of this team."""
    rows = PushSubscription.objects.for_team(principal.team)
    if rows.filter(user=principal.user_id, digest=_digest(endpoint)).delete()[0]:
        audit.record(principal, principal.team, "push.turned_off", principal.name)


def browsers(team: Team) -> list[PushSubscription]:
    """The browsers of a team's people that still have their session; the others are removed."""
    rows = list(PushSubscription.objects.for_team(team).select_related("user").order_by("pk"))
    present = {row.pk for row in rows if reader(team, row) is not None}
    absent = [row.pk for row in rows if row.pk not in present]
    if absent:
        PushSubscription.objects.for_team(team).filter(pk__in=absent).delete()
    return [row for row in rows if row.pk in present]


def those_for(team: Team, row: PushSubscription, questions: Sequence[Interrupt]) -> list[Interrupt]:
    """Those of the questions that the person of this browser may answer now."""
    principal = reader(team, row)
    if principal is None:
        return []
    keys = inbox.answerable(principal).filter(pk__in=[question.pk for question in questions])
    theirs = set(keys.values_list("pk", flat=True))
    return [question for question in questions if question.pk in theirs]


def address_of(row: PushSubscription) -> Address:
    """Where its messages go. Raises SecretUnreadable."""
    endpoint, p256dh, auth = json.loads(unseal(row.secrets))
    return Address(endpoint, Keys(p256dh, auth))


def forget(row: PushSubscription) -> None:
    """Remove a browser whose push service has ended the subscription."""
    PushSubscription.objects.already_found().filter(pk=row.pk).delete()


def reader(team: Team, row: PushSubscription) -> Principal | None:
    """The person of this browser with their present rights; None if its session has ended."""
    principal = of_actor(team, f"user:{row.user_id}")
    return refreshed(replace(principal, session_key=row.session_key)) if principal else None


def _session(principal: Principal) -> tuple[int, str]:
    if principal.user_id is None or not principal.session_key:
        raise Forbidden("Only a signed-in browser can get notifications.")
    return principal.user_id, principal.session_key


def _check(address: Address) -> None:
    """A hostile endpoint is refused; its name is checked again for each message."""
    if len(address.endpoint) > LONGEST_ENDPOINT:
        raise Invalid("The address of the push service is too long.", details={"path": "endpoint"})
    parts = check_url(address.endpoint)
    if parts.scheme != "https" and not _is_allowed(parts.hostname or ""):
        raise Invalid("A push service has an https address.", details={"path": "endpoint"})
    if not web_push.are_valid(address.keys):
        raise Invalid("These are no keys of a browser.", details={"path": "p256dh"})


def _is_allowed(host: str) -> bool:
    """Whether operators allow this name or address, where a push service may lack TLS."""
    try:
        return allowed().address(ip_address(host))
    except ValueError:
        return allowed().name(host)


def _digest(endpoint: str) -> str:
    return sha256(endpoint.encode("utf-8", "backslashreplace")).hexdigest()
