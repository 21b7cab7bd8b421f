"""How failed sign-ins are counted: by address and name, so that a stranger locks out only himself.

A name alone has a bound twenty times as high, against guesses from many addresses. A new password
forgets what was counted for its owner's names, from every address.
"""

import hashlib
import secrets

from allauth.account.models import EmailAddress
from allauth.core import ratelimit
from django.contrib.auth.models import User
from django.core.cache import cache
from django.http import HttpRequest

from security.requester import network_of

ANYWHERE = "login_failed_anywhere"
"""allauth's action that counts a name alone; its rate is in ``ACCOUNT_RATE_LIMITS``."""
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
    """Begin anew for all names of the person: the keys change."""
    addresses = EmailAddress.objects.filter(user=user).values_list("email", flat=True)
    for name in {user.get_username(), user.email, *addresses} - {""}:
        cache.set(_place(name.lower()), secrets.token_hex(8), LONGEST)


def too_many(request: HttpRequest, login: str) -> bool:
    """Whether the name alone is above its bound."""
    return not ratelimit.consume(request, action=ANYWHERE, key=by_name(login), dry_run=True)


def count(request: HttpRequest, login: str) -> None:
    """Count a failed sign-in for the name alone."""
    ratelimit.consume(request, action=ANYWHERE, key=by_name(login))


def _place(name: str) -> str:
    # Names contain what no key of a cache may.
    return f"attempts:{hashlib.sha256(name.encode()).hexdigest()}"
