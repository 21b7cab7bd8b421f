"""DATABASE_URL as Django's settings. Every option takes effect, or the start stops with a line."""

import os
from typing import Any

import psycopg
from django.core.exceptions import ImproperlyConfigured
from psycopg.conninfo import conninfo_to_dict

# A network that swallows packets must not look like a slow database: the kernel gives up on a
# silent peer after about 20 s instead of two hours. Options in the URL override these.
CLIENT = {
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "3",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
# The server's side of it: a session whose client is gone must not keep its locks.
SERVER = (
    "-c idle_in_transaction_session_timeout=15s -c tcp_user_timeout=30s"
    " -c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"
    # Up to PostgreSQL 17 the cost of a plan that a function forbids is so high that each search,
    # start and end would be compiled first, for many times as long as it takes.
    " -c jit=off"
)
SSLMODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
ENCRYPTED = SSLMODES[3:]
FILES = ("sslrootcert", "sslcert", "sslkey", "sslcrl", "sslcrldir")
LIBPQ = os.environ  # libpq's own variables count, too
PLACES = {"host": "HOST", "port": "PORT", "user": "USER", "password": "PASSWORD", "dbname": "NAME"}


def database(url: str) -> dict[str, Any]:
    """The part of Django's DATABASES that the URL decides: host, user, and options.

    libpq reads the URL, so several hosts, sockets and options have their meaning from PostgreSQL's
    manual. Of several servers the host uses one accepting commits, unless the URL names something
    else. Raises ImproperlyConfigured for an option that is unknown or would have no effect.
    """
    options = _parse(url)
    if "," in str(options.get("host", "")) + str(options.get("hostaddr", "")):
        options.setdefault("target_session_attrs", "read-write")
    for port in filter(None, str(options.get("port", "")).split(",")):
        if not port.isdecimal() or not 0 < int(port) < 2**16:
            raise ImproperlyConfigured(
                f"DATABASE_URL: the port is {port!r}; write a number from 1 to 65535."
            )
    _check_tls(options)
    place = {name: str(options.pop(key, "")) for key, name in PLACES.items()}
    return {**place, "OPTIONS": with_defaults(options)}


def direct(url: str) -> dict[str, Any]:
    """The same for DATABASE_DIRECT_URL, with its name in the error."""
    return _named("DATABASE_DIRECT_URL", url)


def replica(url: str) -> dict[str, Any]:
    """The same for DATABASE_REPLICA_URL; which of its hosts are standbys is asked later."""
    address = _named("DATABASE_REPLICA_URL", url)
    options = {"connect_timeout": "2", **_parse(url)}
    attributes = options.get("target_session_attrs", "any")
    own = {"connect_timeout": options["connect_timeout"], "target_session_attrs": attributes}
    return {**address, "OPTIONS": {**address["OPTIONS"], **own}}


def _named(name: str, url: str) -> dict[str, Any]:
    try:
        return database(url)
    except ImproperlyConfigured as error:
        raise ImproperlyConfigured(str(error).replace("DATABASE_URL", name)) from None


def with_defaults(options: dict[str, Any]) -> dict[str, Any]:
    """libpq's parameters, with the deadlines of this host as defaults."""
    own = str(options.get("options", ""))
    return {**CLIENT, **options, "options": f"{SERVER} {own}".rstrip()}


def _parse(url: str) -> dict[str, Any]:
    # urlsplit would refuse an IPv6 address beside other hosts.
    if url.partition(":")[0] not in ("postgres", "postgresql"):
        raise ImproperlyConfigured(
            "DATABASE_URL must begin with postgres:// or postgresql://;"
            " write postgres://user:password@host:5432/name."
        )
    try:
        return dict(conninfo_to_dict(url))
    except psycopg.Error as error:
        # libpq quotes the URL, which contains a password.
        reason = str(error).strip().replace(url, "the address")
        raise ImproperlyConfigured(f"DATABASE_URL cannot be read: {reason}.") from None


def _check_tls(options: dict[str, Any]) -> None:
    """Refuse options that libpq would silently ignore."""
    mode = options.get("sslmode", LIBPQ.get("PGSSLMODE", "prefer"))
    if mode not in SSLMODES:
        raise ImproperlyConfigured(
            f"DATABASE_URL: sslmode is {mode!r}; write one of {', '.join(SSLMODES)}."
        )
    for name in FILES:
        path = options.get(name)
        if path is None:
            continue
        if mode not in ENCRYPTED:
            raise ImproperlyConfigured(
                f"DATABASE_URL has {name}, but with sslmode={mode} the connection can be"
                " unencrypted. Add sslmode=verify-full."
            )
        if not (name == "sslrootcert" and path == "system") and not os.access(path, os.R_OK):
            raise ImproperlyConfigured(f"DATABASE_URL: {name}={path} cannot be read.")
    if mode in ENCRYPTED and not options.get("hostaddr"):
        hosts = str(options.get("host", LIBPQ.get("PGHOST", ""))).split(",")
        if any(not host or host.startswith(("/", "@")) for host in hosts):
            raise ImproperlyConfigured(
                f"DATABASE_URL has sslmode={mode}, but a Unix socket cannot use TLS: name a host."
            )
