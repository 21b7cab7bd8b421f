"""The first connection of a start: explains in one line why a database refuses it.

The line names the place, the reason and the remedy, within ``SECONDS_PER_HOST`` for each host in
DATABASE_URL.
"""

import re
import threading
from typing import Any

import psycopg
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from procrastinate.contrib.django.utils import connector_params

from agui_host.backends.postgres import roles
from agui_host.backends.postgres.address import CLIENT, LIBPQ
from agui_host.backends.postgres.deadlines import LOOK, Connection

SECONDS_PER_HOST = 3
OLDEST = 150_000
REMEDIES = [
    (r"could not translate host name|failed to resolve", "the name cannot be resolved",
     "check its spelling and the DNS of this machine"),
    (r"Connection refused", "the connection is refused",
     "check that PostgreSQL runs there and listens on that port"),
    (r"timeout expired|timed out|did not answer", "nothing answers",
     "check the address, and the firewalls in between"),
    (r"No route to host|unreachable", "there is no route to it",
     "check the address and the network"),
    (r"No such file or directory", "no server listens on that socket",
     "check that PostgreSQL runs, and the path"),
    (r"password authentication failed|no password supplied|authentication failed",
     "it rejects user {user} or the password", "check both in the URL"),
    (r'database ".*" does not exist', "there is no database {dbname}",
     "create it (createdb {dbname}), or correct the name"),
    (r'role ".*" does not exist', "there is no user {user}", "create it, or correct the name"),
    (r"does not match host name|certificate verify failed|root certificate|self.signed",
     "its certificate is not trusted ({reason})",
     "check the host's name, and sslrootcert in the URL"),
    (r"does not support SSL", "it does not offer TLS", "set that up, or lower sslmode"),
    (r"no pg_hba.conf entry", "it does not accept user {user} from this machine",
     "add a line to pg_hba.conf"),
    (r"unsupported startup parameter", "it is PgBouncer, which refuses options",
     "add options to its ignore_startup_parameters"),
    (r"too many (?:clients|connections)", "it accepts no more connections",
     "raise max_connections, or lower AGUI_DB_POOL"),
]  # fmt: skip
NO_EMBEDDED = (
    "DATABASE_URL is not set, and no PostgreSQL of AGUI_DATA_DIR={data} runs: "
    "start `up` there first, or set DATABASE_URL."
)


def reach() -> str:
    """The server's version and address, ``18.4 at db.example:5432``, after one connection.

    Raises ImproperlyConfigured if it cannot be used, or is too old.
    """
    parameters = connector_params()
    hosts = str(parameters.get("host") or "").split(",")
    seconds = parameters.get("connect_timeout")
    if seconds == CLIENT["connect_timeout"]:  # not the address's own
        parameters["connect_timeout"] = seconds = SECONDS_PER_HOST
    each = float(seconds or SECONDS_PER_HOST) + (float(LOOK) if len(hosts) > 1 else 0.0)
    outcome = _attempt(parameters, each * len(hosts) + 0.5)
    if isinstance(outcome, psycopg.Error):
        raise ImproperlyConfigured(_diagnosis(outcome, parameters)) from None
    if outcome < OLDEST:
        raise ImproperlyConfigured(
            f"{setting()}: PostgreSQL at {place(parameters)} is version {outcome // 10_000}; "
            "this host needs 15 or newer."
        )
    return f"{outcome // 10_000}.{outcome % 10_000} at {place(parameters)}"


def setting() -> str:
    """The name of the setting that this process takes its address from."""
    direct = settings.AGUI_DATABASE_DIRECT and not roles.process.shares
    return "DATABASE_DIRECT_URL" if direct else "DATABASE_URL"


def place(parameters: dict[str, Any]) -> str:
    """``host:port`` of a server, or of each; ``embedded`` is the one of the data directory."""
    if settings.AGUI_EMBEDDED["postgres"]:
        return "embedded"
    hosts = str(parameters.get("host") or LIBPQ.get("PGHOST") or "localhost").split(",")
    ports = str(parameters.get("port") or LIBPQ.get("PGPORT") or "5432").split(",")
    ports = ports if len(ports) == len(hosts) else ports * len(hosts)
    return ",".join(f"{host}:{port}" for host, port in zip(hosts, ports, strict=False))


def _attempt(parameters: dict[str, Any], seconds: float) -> int | psycopg.Error:
    """The server's version, or the error. In a thread: a resolver can hang for longer."""
    outcome: list[int | psycopg.Error] = []

    def connect() -> None:
        try:
            with Connection.connect(**parameters) as connection:
                outcome.append(connection.info.server_version)
        except psycopg.Error as error:
            outcome.append(error)

    thread = threading.Thread(target=connect, name="reach", daemon=True)
    thread.start()
    thread.join(seconds)
    return outcome[0] if outcome else psycopg.OperationalError("it did not answer")


def _diagnosis(error: psycopg.Error, parameters: dict[str, Any]) -> str:
    if settings.AGUI_EMBEDDED["postgres"]:
        return NO_EMBEDDED.format(data=settings.AGUI_DATA_DIR)
    text = " ".join(str(error).split())
    names = {
        "user": parameters.get("user") or "(none)",
        "dbname": parameters.get("dbname") or parameters.get("user") or "(none)",
        "reason": re.sub(r"^.*?(?:failed|error): ", "", text),
    }
    for pattern, why, remedy in REMEDIES:
        if re.search(pattern, text, re.IGNORECASE):
            why, remedy = why.format(**names), remedy.format(**names)
            return f"{setting()}: PostgreSQL at {place(parameters)}: {why}; {remedy}."
    return f"{setting()}: PostgreSQL at {place(parameters)} cannot be used: {text}"
