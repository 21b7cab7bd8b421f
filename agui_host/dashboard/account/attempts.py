"""How failed sign-ins are counted: by address and name, so that a stranger locks out only himself.

A name alone has a bound twenty times as high, against guesses from many addresses. A new password
resets the counts of its owner's names, from every address.
"""

import hashlib
import secrets

from allauth.account.models import EmailAddress
from allauth.core import ratelimit
from django.contrib.auth.models import User
from django.core.cache import cache
from django.http import HttpRequest

from agui_host.security.requester import network_of

FROM, HERE, ANYWHERE = "login_failed_from", "login_failed_here", "login_failed_anywhere"
"""Actions of allauth for an address, for a name at an address, and for a name alone.

Their rates are in ``ACCOUNT_RATE_LIMITS``. ``login_failed`` remains for codes.
"""
LONGEST = 300
"""Seconds of the longest rate."""


def by_name(login: str) -> str:
    """The key of a name, from any address."""
    name = login.lower()
    return f"{cache.get(_place(name), '')}:{name}"


def by_address(login: str, address: str) -> str:
    """The key of a name, from one address."""
    return f"{network_of(address)}:{by_name(login)}"


def forget(user: User) -> None:
    """Forget all attempts at the names of the person, whose keys change."""
    addresses = EmailAddress.objects.filter(user=user).values_list("email", flat=True)
    for name in {user.get_username(), user.email, *addresses} - {""}:
        cache.set(_place(name.lower()), secrets.token_hex(8), LONGEST)


def admit(request: HttpRequest, login: str, address: str) -> bool:
    """Whether this attempt is within all bounds; it counts for the name at this address."""
    name = by_name(login)
    within = ratelimit.consume(request, action=FROM, dry_run=True)
    within = within and ratelimit.consume(request, action=ANYWHERE, key=name, dry_run=True)
    return within and bool(ratelimit.consume(request, action=HERE, key=by_address(login, address)))


def count(request: HttpRequest, login: str) -> None:
    """Count a failed attempt for the address, and for the name alone."""
    ratelimit.consume(request, action=FROM)
    ratelimit.consume(request, action=ANYWHERE, key=by_name(login))


def succeeded(request: HttpRequest, login: str, address: str) -> None:
    """Forget the failed attempts at the name from this address."""
    ratelimit.clear(request, action=HERE, key=by_address(login, address))


def _place(name: str) -> str:
    # Names can contain characters that are not allowed in a cache's keys.
    return f"attempts:{hashlib.sha256(name.encode()).hexdigest()}"
