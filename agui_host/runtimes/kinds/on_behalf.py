"""AGUI-On-Behalf-Of: the signed token that names a run's end user to a remote agent."""

from typing import Any

import jwt

from agui_host.backends.postgres import clock
from agui_host.runtimes.context.run_context import RunContext

HEADER = "agui-on-behalf-of"
SECTION = "on_behalf_of"
"""The section of an agent's secrets with the secret that signs the token."""
ISSUER = "agui-run-host"
SECONDS = 300


def headers(ctx: RunContext, secret: str, audience: str) -> dict[str, str]:
    """The header with the token, if the agent has a secret and the run an end user.

    ``act`` names the key that acts for the person, as in RFC 8693.
    """
    person = ctx.person
    if person is None or not secret:
        return {}
    now = int(clock.seconds())
    claims: dict[str, Any] = {
        "iss": ISSUER,
        "aud": audience,
        "sub": person.id,
        "act": {"sub": person.via},
        "iat": now,
        "exp": now + SECONDS,
        "run_id": ctx.run_id,
        "thread_id": ctx.thread_id,
    }
    claims |= {k: v for k, v in (("name", person.name), ("email", person.email)) if v}
    return {HEADER: jwt.encode(claims, secret, "HS256")}
