"""Whether Valkey answers, accepts the host's writes, and passes its messages on."""

import structlog
from django.core.exceptions import ImproperlyConfigured
from redis import Redis, RedisError
from redis.cluster import RedisCluster
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
from redis.sentinel import MasterNotFoundError

from agui_host.backends.valkey import clients
from agui_host.backends.valkey.addresses import EXAMPLES, parse, place

log = structlog.get_logger(__name__)
ANSWER_SECONDS = 2.0
PROBE_SECONDS = 0.5
PERMANENT = (
    "CERTIFICATE_VERIFY_FAILED",
    "WRONG_VERSION_NUMBER",
    "DB index is out of range",
    "Cluster mode is not enabled",
    "unknown command",
)
CLUSTER, DOWN = "a cluster", "refuses: cluster down"
RIGHTS = "missing permissions"
REFUSALS: tuple[tuple[type[RedisError], str], ...] = (
    (ClusterDownError, CLUSTER),
    (AskError, CLUSTER),  # Also the base of MovedError.
    (ClusterCrossSlotError, CLUSTER),
    (ReadOnlyError, "a read-only replica"),
    (NoPermissionError, RIGHTS),
    (AuthenticationError, "rejected password"),
    (AuthorizationError, "rejected password"),
    (OutOfMemoryError, "memory full"),
    (ResponseError, "unexpected answer"),
)
"""How `/ready` names Valkey's refusals: the first class that fits."""
MISTAKES = {
    f"refuses: {CLUSTER}": "is a node of a cluster; write redis+cluster://host:port,host:port",
    f"refuses: {RIGHTS}": "lacks permissions; docs/howto-valkey.md lists those it needs",
}
"""Refusals that only a person can end: the process does not start."""
PROBES = [f"agui:probe:{number}" for number in range(16)]
"""Written by a probe: so many that a cluster serves some of them from another node."""
PROBE = "return redis.call('SET', KEYS[1], '1', 'EX', 5)"
CHANNEL = "asgi__group__probe"


def reach(url: str) -> bool:
    """Whether Valkey answers. It can come later: readers are served by polling until then.

    Raises ImproperlyConfigured if it answers with a refusal that will not change.
    """
    where = place(url)
    try:
        client = clients.client(url, ANSWER_SECONDS)
        try:
            client.ping()
        finally:
            client.close()
    except clients.ERRORS as error:
        if isinstance(_answer(error), AuthenticationError | AuthorizationError):
            raise ImproperlyConfigured(
                f"REDIS_URL: Valkey at {where} rejects the user or the password; check both."
            ) from None
        if any(word in str(error) for word in PERMANENT):
            raise ImproperlyConfigured(
                f"REDIS_URL: Valkey at {where} cannot be used: {' '.join(str(error).split())}"
            ) from None
        _check_name(url)
        log.warning("valkey.unreachable", setting="REDIS_URL", at=where)
        return False
    condition = state(url)
    if mistake := MISTAKES.get(condition):
        raise ImproperlyConfigured(f"REDIS_URL: Valkey at {where} {mistake}.")
    if condition.startswith("refuses"):
        log.error("valkey.refuses", setting="REDIS_URL", at=where, state=condition)
    return True


def _check_name(url: str) -> None:
    """Raise ImproperlyConfigured if a sentinel answers and has no primary of that name."""
    address = parse(url)
    if address.kind != "sentinel":
        return
    for sentinel in clients.sentinels(address, ANSWER_SECONDS).sentinels:
        try:
            names = sentinel.sentinel_masters()
        except clients.ERRORS:
            continue
        finally:
            sentinel.close()
        if address.name not in names:
            raise ImproperlyConfigured(
                f"REDIS_URL: the sentinels at {place(url).rpartition('/')[0]} know no primary "
                f"{address.name!r}; write {EXAMPLES['sentinel']}."
            )
        return


def _answer(error: BaseException | None) -> BaseException | None:
    """The answer of a server that led to the error of a whole cluster or of all sentinels."""
    while error is not None:
        if isinstance(error, MasterNotFoundError) and "AuthenticationError" in str(error):
            return AuthenticationError(str(error))
        if any(isinstance(error, kind) for kind, _ in REFUSALS):
            return error
        error = error.__cause__ or error.__context__
    return None


def refusal(error: BaseException) -> str | None:
    """The reason in words if Valkey has answered and refused; None if it is away."""
    answer = _answer(error)
    return next((reason for kind, reason in REFUSALS if isinstance(answer, kind)), None)


def state(url: str) -> str:
    """``ok``, ``down``, or ``refuses: REASON`` if Valkey is there and takes no writes of ours."""
    try:
        client = clients.client(url, PROBE_SECONDS)
        try:
            _use(client)
        finally:
            client.close()
    except clients.ERRORS as error:
        reason = refusal(error)
        if reason == CLUSTER and parse(url).kind == "cluster":
            return DOWN
        return f"refuses: {reason}" if reason else "down"
    return "ok"


def _use(client: Redis | RedisCluster) -> None:
    """Do what cache, seats and bell do. Raises the error of what does not work."""
    pipeline = client.pipeline(transaction=False)
    for key in PROBES:
        pipeline.set(key, 1, ex=5)
    pipeline.execute()
    client.eval(PROBE, 1, PROBES[0])
    client.publish(CHANNEL, "")
    with client.pubsub() as subscriber:  # type: ignore[no-untyped-call]
        subscriber.subscribe(CHANNEL)
        subscriber.get_message(timeout=PROBE_SECONDS)
