"""REDIS_URL, checked once: every option takes effect, or the start stops with one line.

The channel layer, the cache and the counted seats all pass the URL to redis-py, which reads the
options itself; it passes on an unknown name until the first connection fails.
"""

import os
from urllib.parse import SplitResult, parse_qsl, urlsplit

import structlog
from django.core.exceptions import ImproperlyConfigured
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.exceptions import (
    AskError,
    AuthenticationError,
    AuthorizationError,
    ClusterCrossSlotError,
    ClusterDownError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
)
from redis.retry import Retry

log = structlog.get_logger(__name__)
ANSWER_SECONDS = 2.0
PROBE_SECONDS = 0.5
PERMANENT = ("CERTIFICATE_VERIFY_FAILED", "WRONG_VERSION_NUMBER", "DB index is out of range")
PLAIN = frozenset({"db", "username", "password", "client_name", "protocol"})
FILES = frozenset({"ssl_keyfile", "ssl_certfile", "ssl_ca_certs", "ssl_ca_path"})
TLS = FILES | {
    "ssl_cert_reqs", "ssl_check_hostname", "ssl_password", "ssl_ciphers", "ssl_ca_data",
}  # fmt: skip
REQUIREMENTS = ("none", "optional", "required")
REFUSALS: tuple[tuple[type[RedisError], str], ...] = (
    (ClusterDownError, "a cluster"),
    (AskError, "a cluster"),  # Also the base of MovedError.
    (ClusterCrossSlotError, "a cluster"),
    (ReadOnlyError, "a read-only replica"),
    (NoPermissionError, "missing permissions"),
    (AuthenticationError, "rejected password"),
    (AuthorizationError, "rejected password"),
    (OutOfMemoryError, "memory full"),
    (ResponseError, "unexpected answer"),
)
"""How `/ready` names Valkey's refusals: the first class that fits."""
PROBES = [f"agui:probe:{number}" for number in range(16)]
"""Written by a probe: so many that a cluster serves some of them from another node."""
PROBE = "return redis.call('SET', KEYS[1], '1', 'EX', 5)"


def address(url: str) -> str:
    """``url`` itself. Raises ImproperlyConfigured for an option that would have no effect."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ImproperlyConfigured("REDIS_URL is not a URL; write redis://host:6379/0.") from None
    if parts.scheme not in ("redis", "rediss", "unix"):
        raise ImproperlyConfigured(
            "REDIS_URL must begin with redis://, rediss:// or unix://; write redis://host:6379/0."
        )
    if parts.scheme != "unix":
        _check_place(parts)
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if name not in PLAIN | TLS:
            raise ImproperlyConfigured(f"REDIS_URL has the unknown option {name}.")
        if name in TLS and parts.scheme != "rediss":
            raise ImproperlyConfigured(
                f"REDIS_URL has {name}, but {parts.scheme}:// does not encrypt: use rediss://."
            )
        if name in FILES and not os.access(value, os.R_OK):
            raise ImproperlyConfigured(f"REDIS_URL: {name}={value} cannot be read.")
        if name == "ssl_cert_reqs" and value not in REQUIREMENTS:
            raise ImproperlyConfigured(
                f"REDIS_URL: ssl_cert_reqs is {value!r}; write one of {', '.join(REQUIREMENTS)}."
            )
    return url


def _check_place(parts: SplitResult) -> None:
    """Refuse what redis-py would ignore, or raise about at the first connection."""
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        raise ImproperlyConfigured(
            "REDIS_URL: its port is invalid; write a number from 1 to 65535."
        )
    if not parts.path.strip("/").isdecimal() and parts.path.strip("/"):
        raise ImproperlyConfigured(
            "REDIS_URL: its path is not a database number; write redis://host:6379/0."
        )


def place(url: str) -> str:
    """The address of a Valkey without its password: ``host:port`` or a socket's path."""
    parts = urlsplit(url)
    return parts.path if parts.scheme == "unix" else f"{parts.hostname}:{parts.port or 6379}"


def reach(url: str) -> bool:
    """Whether Valkey answers. It may come later: readers are served by polling until then.

    Raises ImproperlyConfigured if it answers with a refusal that will not change.
    """
    client = Redis.from_url(
        url,
        socket_connect_timeout=ANSWER_SECONDS,
        socket_timeout=ANSWER_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
    where = place(url)
    try:
        client.ping()
    except (AuthenticationError, AuthorizationError):
        raise ImproperlyConfigured(
            f"REDIS_URL: Valkey at {where} rejects the user or the password; check both."
        ) from None
    except RedisError as error:
        if any(word in str(error) for word in PERMANENT):
            raise ImproperlyConfigured(
                f"REDIS_URL: Valkey at {where} cannot be used: {' '.join(str(error).split())}"
            ) from None
        log.warning("valkey.unreachable", setting="REDIS_URL", at=where)
        return False
    finally:
        client.close()
    if (condition := state(url)).startswith("refuses"):
        log.error("valkey.refuses", setting="REDIS_URL", at=where, state=condition)
    return True


def refusal(error: BaseException) -> str | None:
    """The reason in words if Valkey has answered and refused; None if it is away."""
    return next((reason for kind, reason in REFUSALS if isinstance(error, kind)), None)


def state(url: str) -> str:
    """``ok``, ``down``, or ``refuses: REASON`` if Valkey is there and takes no writes of ours."""
    client = Redis.from_url(
        url,
        socket_connect_timeout=PROBE_SECONDS,
        socket_timeout=PROBE_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
    try:
        pipeline = client.pipeline(transaction=False)
        for key in PROBES:
            pipeline.set(key, 1, ex=5)
        pipeline.eval(PROBE, 1, PROBES[0])
        pipeline.execute()
    except (RedisError, OSError) as error:
        reason = refusal(error)
        return f"refuses: {reason}" if reason else "down"
    finally:
        client.close()
    return "ok"
