"""The header X-AGUI-User: a JWT that names the person for whom a key sends the request."""

from hashlib import sha256
from typing import Any

import jwt
from django.conf import settings

from agui_host.backends.postgres import clock
from agui_host.errors import Unauthenticated
from agui_host.protocol.strict_json import dumps
from agui_host.security.secrets import unseal
from agui_host.teams.actors import EndUser, end_user_id, key_id
from agui_host.teams.models import ApiKey

HEADER = "x-agui-user"
ALGORITHM = "HS256"
LONGEST_TOKEN = 4_096
LONGEST_SUB = 150
LONGEST = {"name": 200, "email": 254}
LEEWAY = 10
"""Seconds by which the clock of the key's owner may be wrong."""


class EndUserRefused(Unauthenticated):
    """The X-AGUI-User token is not valid for this key."""

    code = "end_user_refused"

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message, headers={"WWW-Authenticate": "Bearer"})


class EndUserExpired(EndUserRefused):
    """The X-AGUI-User token has expired; sign a new one."""

    code = "end_user_expired"


class EndUsersUnavailable(EndUserRefused):
    """This key has no secret for end users; make one: POST /api/v1/keys/{id}/end_user_secret."""

    code = "end_users_unavailable"


class EndUserWithoutKey(EndUserRefused):
    """X-AGUI-User is only for requests with an API key in the Authorization header."""

    code = "end_user_without_key"


def verified(row: ApiKey, token: str) -> EndUser:
    """The end user that this token of the key names. Raises EndUserRefused."""
    if not row.end_user_secret or row.end_user_realm is None:
        raise EndUsersUnavailable
    if len(token) > LONGEST_TOKEN:
        raise EndUserRefused(f"An X-AGUI-User token has at most {LONGEST_TOKEN} characters.")
    secret = unseal(row.end_user_secret)
    try:
        claims = jwt.decode(
            token,
            secret,
            algorithms=[ALGORITHM],
            leeway=LEEWAY,
            options={"require": ["sub", "exp"], "verify_aud": False},
        )
        text = dumps(claims)
    except jwt.ExpiredSignatureError:
        raise EndUserExpired from None
    except (jwt.PyJWTError, ValueError, ArithmeticError, RecursionError):
        raise EndUserRefused from None
    _check(claims)
    return EndUser(
        sub=claims["sub"],
        actor_id=end_user_id(row.end_user_realm, claims["sub"]),
        credential=key_id(row.pk),
        claims=text,
        expires=float(claims["exp"]),
        signed_with=_digest(secret),
    )


def remains(row: ApiKey, end_user: EndUser) -> bool:
    """Whether the token is still valid: it has not expired, and the key has the same secret."""
    if not row.end_user_secret or end_user.expires + LEEWAY <= clock.seconds():
        return False
    return _digest(unseal(row.end_user_secret)) == end_user.signed_with


def _check(claims: dict[str, Any]) -> None:
    longest: int = settings.AGUI_END_USER_SECONDS
    if (
        type(claims["exp"]) not in (int, float)
        or claims["exp"] > clock.seconds() + longest + LEEWAY
    ):
        raise EndUserRefused(f"An X-AGUI-User token is valid for at most {longest} seconds.")
    sub = claims["sub"]
    if not (0 < len(sub) <= LONGEST_SUB and sub.isprintable()):
        raise EndUserRefused(f"sub must have 1 to {LONGEST_SUB} printable characters.")
    for name, most in LONGEST.items():
        value = claims.get(name, "")
        if not isinstance(value, str) or len(value) > most:
            raise EndUserRefused(f"{name} must be a text of at most {most} characters.")


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()[:16]
