"""REDIS_URL, checked once: every option takes effect, or the start stops with one line.

redis-py reads the options itself; it passes on an unknown name until the first connection fails.
It has no URL for sentinels, and none that names several nodes of a cluster.
"""

import functools
import os
import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from django.core.exceptions import ImproperlyConfigured
from redis.connection import parse_url

PLAIN = frozenset({"db", "username", "password", "client_name", "protocol"})
FILES = frozenset({"ssl_keyfile", "ssl_certfile", "ssl_ca_certs", "ssl_ca_path"})
TLS = FILES | {
    "ssl_cert_reqs", "ssl_check_hostname", "ssl_password", "ssl_ciphers", "ssl_ca_data",
}  # fmt: skip
SENTINELS = frozenset({"sentinel_username", "sentinel_password"})
NOT_IN_A_CLUSTER = frozenset({"db", "ssl_ca_path", "ssl_password"})
"""Options that redis-py's asynchronous client of a cluster does not take."""
REQUIREMENTS = ("none", "optional", "required")
SCHEMES = {
    "redis": "one", "rediss": "one", "unix": "one",
    "redis+sentinel": "sentinel", "rediss+sentinel": "sentinel",
    "redis+cluster": "cluster", "rediss+cluster": "cluster",
}  # fmt: skip
EXAMPLES = {
    "one": "redis://host:6379/0",
    "sentinel": "redis+sentinel://host:26379,host:26379/NAME/0",
    "cluster": "redis+cluster://host:6379,host:6379",
}
PORTS = {"one": 6379, "sentinel": 26379, "cluster": 6379}


class Address(NamedTuple):
    """The servers that a URL names, and how to connect to each."""

    kind: Literal["one", "sentinel", "cluster"]
    nodes: tuple[tuple[str, int], ...]
    name: str  # by which the sentinels know the primary
    options: dict[str, Any]  # redis-py's: user, password, database, TLS
    credentials: dict[str, str]  # for the sentinels


def split(url: str) -> SplitResult:
    """The parts of a server's URL, in which several hosts can stand.

    A patched Python's urlsplit refuses an IPv6 address beside other hosts, so it sees one host in
    their place. Raises ValueError where that is not a URL.
    """
    scheme, colon, rest = url.partition("://")
    netloc = re.match(r"[^/?#]*", rest)[0]  # type: ignore[index]  # it matches every text
    user, at, _ = netloc.rpartition("@")
    place = f"{user}{at}host" if netloc else ""
    return urlsplit(f"{scheme}{colon}{place}{rest[len(netloc) :]}")._replace(netloc=netloc)


def address(url: str) -> str:
    """``url`` itself. Raises ImproperlyConfigured for an option that would have no effect."""
    try:
        parts = split(url)
        nodes = _nodes(parts, SCHEMES.get(parts.scheme, "one"))
    except ValueError:
        raise ImproperlyConfigured("REDIS_URL is not a URL; write redis://host:6379/0.") from None
    kind = SCHEMES.get(parts.scheme)
    if kind is None:
        raise ImproperlyConfigured(
            "REDIS_URL must begin with redis://, rediss:// or unix://, or for several servers with "
            "redis+sentinel:// or redis+cluster:// (with TLS, rediss+…); write redis://host:6379/0."
        )
    if parts.scheme != "unix":
        _check_place(parts, kind, nodes)
    allowed = PLAIN | TLS | (SENTINELS if kind == "sentinel" else set())
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if name not in allowed or (kind == "cluster" and name in NOT_IN_A_CLUSTER):
            raise ImproperlyConfigured(f"REDIS_URL has the unknown option {name}.")
        if name in TLS and not parts.scheme.startswith("rediss"):
            secure = parts.scheme.replace("redis", "rediss", 1).replace("unix", "rediss")
            raise ImproperlyConfigured(
                f"REDIS_URL has {name}, but {parts.scheme}:// does not encrypt: use {secure}://."
            )
        if name in FILES and not os.access(value, os.R_OK):
            raise ImproperlyConfigured(f"REDIS_URL: {name}={value} cannot be read.")
        if name == "ssl_cert_reqs" and value not in REQUIREMENTS:
            raise ImproperlyConfigured(
                f"REDIS_URL: ssl_cert_reqs is {value!r}; write one of {', '.join(REQUIREMENTS)}."
            )
    return url


def _check_place(parts: SplitResult, kind: str, nodes: Sequence[tuple[str, int]]) -> None:
    """Refuse what redis-py would ignore, or raise about at the first connection."""
    if not all(port for _, port in nodes):
        raise ImproperlyConfigured(
            "REDIS_URL: its port is invalid; write a number from 1 to 65535."
        )
    if kind != "one" and not all(host for host, _ in nodes):
        raise ImproperlyConfigured(f"REDIS_URL: a host is missing; write {EXAMPLES[kind]}.")
    name, database = _name_and_database(parts, kind)
    if kind == "sentinel" and not name:
        raise ImproperlyConfigured(
            f"REDIS_URL: the name of the primary is missing; write {EXAMPLES[kind]}."
        )
    if kind == "cluster" and database not in ("", "0"):
        raise ImproperlyConfigured(
            f"REDIS_URL: a cluster has only the database 0; write {EXAMPLES[kind]}."
        )
    if database and not database.isdecimal():
        raise ImproperlyConfigured(
            f"REDIS_URL: its path is not a database number; write {EXAMPLES[kind]}."
        )


def _name_and_database(parts: SplitResult, kind: str) -> tuple[str, str]:
    path = parts.path.strip("/")
    if kind != "sentinel":
        return "", path
    name, _, database = path.partition("/")
    return unquote(name), database


def _nodes(parts: SplitResult, kind: str) -> tuple[tuple[str, int], ...]:
    """Each host and port that the URL names; 0 for an invalid port."""
    names = parts.netloc.rpartition("@")[2]
    return tuple(_node(name, kind) for name in (names.split(",") if kind != "one" else [names]))


def _node(name: str, kind: str) -> tuple[str, int]:
    parts = urlsplit(f"//{name}")
    try:
        port = parts.port
    except ValueError:
        port = 0
    return parts.hostname or "", PORTS[kind] if port is None else port


@functools.lru_cache(8)
def parse(url: str) -> Address:
    """The servers that a checked URL names."""
    parts = split(url)
    kind: Any = SCHEMES[parts.scheme]
    if kind == "one":
        return Address(kind, (), "", {}, {})
    name, database = _name_and_database(parts, kind)
    user, at, _ = parts.netloc.rpartition("@")
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    credentials = {
        option.removeprefix("sentinel_"): query.pop(option) for option in SENTINELS & set(query)
    }
    scheme = parts.scheme.partition("+")[0]
    plain = f"{scheme}://{user}{at}node/{database}?{urlencode(query)}"
    options = dict(parse_url(plain))  # type: ignore[no-untyped-call]
    for option in ("host", "connection_class"):
        options.pop(option, None)
    if scheme == "rediss":
        options["ssl"] = True
    if not credentials:
        credentials = {
            option: options[option] for option in ("username", "password") if options.get(option)
        }
    return Address(kind, _nodes(parts, kind), name, options, credentials)


def place(url: str) -> str:
    """The address of Valkey without its password: ``host:port``, several, or a socket's path."""
    parts = split(url)
    if parts.scheme == "unix":
        return parts.path
    kind = SCHEMES[parts.scheme]
    names = ((f"[{host}]" if ":" in host else host, port) for host, port in _nodes(parts, kind))
    nodes = ",".join(f"{host}:{port}" for host, port in names)
    return f"{nodes}/{_name_and_database(parts, kind)[0]}" if kind == "sentinel" else nodes


def has_replicas(url: str) -> bool:
    """Whether another server takes over if one dies, so that an outage is brief."""
    return parse(url).kind != "one"
