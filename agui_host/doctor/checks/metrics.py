"""The addresses that Prometheus scrapes."""

import httpx
from django.conf import settings
from django.db import connection

from agui_host.backends.metrics import PORTS
from agui_host.doctor.checks.public_url import client
from agui_host.doctor.findings import Fault, check
from agui_host.web.health import live_workers

EVERYWHERE = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104  what an operator writes
LOOPBACK = ("127.0.0.1", "[::1]", "localhost")
SEE = "docs/howto-monitoring.md"
SCRAPED_AT = """
select scraped_at from runs_worker
 where not draining and heartbeat > now() - make_interval(secs => %(lost)s)
 order by 1
"""


@check("metrics", needs="migrations")
def metrics() -> str | list[Fault]:
    """Whether each worker answers scrapes, and web accepts AGUI_METRICS_KEY."""
    if not (settings.AGUI_METRICS_ADDRESS or settings.AGUI_METRICS_KEY):
        return "not set"
    faults: list[Fault] = []
    places: list[str] = []
    if live_workers():
        for outcome in _workers():
            _sort(outcome, places, faults)
    _sort(_web(), places, faults)
    return faults or "; ".join(places)


def _sort(outcome: str | Fault, places: list[str], faults: list[Fault]) -> None:
    if isinstance(outcome, str):
        places.append(outcome)
    else:
        faults.append(outcome)


def _workers() -> list[str | Fault]:
    """The addresses that the workers have registered, and the scrapes from here."""
    with connection.cursor() as cursor:
        cursor.execute(SCRAPED_AT, {"lost": settings.AGUI_WORKER_LOST_AFTER})
        addresses = [address for (address,) in cursor.fetchall()]
    outcomes: list[str | Fault] = []
    if silent := addresses.count(""):
        outcomes.append(
            Fault(
                f"{silent} of {len(addresses)} workers answer no scrapes.",
                "Set AGUI_METRICS_ADDRESS for each worker, and start it again; metrics.not_served"
                f" in its log names a port that is taken ({SEE}).",
            )
        )
    if settings.AGUI_METRICS_ADDRESS:
        outcomes.append(_workers_at(settings.AGUI_METRICS_ADDRESS))
    outcomes += [
        Fault(
            f"The worker at {address} answers no scrapes from here.",
            f"Open this port to Prometheus, or correct AGUI_METRICS_ADDRESS ({SEE}).",
        )
        for address in addresses
        if address and not _is_of_one_machine(address) and not _answers(address)
    ]
    return outcomes


def _is_of_one_machine(address: str) -> bool:
    """Whether workers of other machines can have the same address."""
    host = address.rpartition(":")[0]
    return host in EVERYWHERE or host in LOOPBACK


def _workers_at(address: str) -> str | Fault:
    host, _, port = address.rpartition(":")
    here = EVERYWHERE.get(host, host)
    for candidate in range(int(port), min(int(port) + PORTS, 65_536)):
        if _answers(f"{here}:{candidate}"):
            return f"workers at {here}:{candidate}"
    if host in EVERYWHERE:
        return f"workers at {address}, on other machines"
    return Fault(
        f"No worker answers scrapes at AGUI_METRICS_ADDRESS={address}, or the next ports.",
        f"Look for metrics.not_served in a worker's log ({SEE}).",
    )


def _answers(address: str) -> bool:
    try:
        with client() as web:
            return "agui_worker_slots" in web.get(f"http://{address}/metrics").text
    except httpx.HTTPError:
        return False


def _web() -> str | Fault:
    url, key = settings.AGUI_PUBLIC_URL, settings.AGUI_METRICS_KEY
    if not key:
        return "web answers none without AGUI_METRICS_KEY"
    if not url:
        return "web was not tried without AGUI_PUBLIC_URL"
    try:
        with client() as web:
            answer = web.get(f"{url}/metrics", headers={"authorization": f"Bearer {key}"})
    except httpx.HTTPError as error:
        status = type(error).__name__
    else:
        if answer.status_code == httpx.codes.OK and "agui_build_info" in answer.text:
            return f"web at {url}/metrics"
        status = str(answer.status_code)
    return Fault(
        f"{url}/metrics does not accept AGUI_METRICS_KEY: {status}.",
        "Give web and this process the same key, and let the proxy pass the header.",
    )
