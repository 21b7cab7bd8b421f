"""The addresses that Prometheus scrapes."""

from collections.abc import Iterator

import httpx
from django.conf import settings
from django.db import connection

from agui_host.backends.metrics import PORTS
from agui_host.doctor.checks.public_url import client
from agui_host.doctor.findings import Fault, check
from agui_host.embedded.ports import announced
from agui_host.web import proxy_probe
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
    for outcome in _webs():
        _sort(outcome, places, faults)
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


def _webs() -> Iterator[str | Fault]:
    """The web processes of this machine by their own addresses, and any by the public URL."""
    if not settings.AGUI_METRICS_KEY:
        yield "web answers none without AGUI_METRICS_KEY"
        return
    ports = announced(settings.AGUI_DATA_DIR)
    # In a container web cannot write that it is there; it has the port of the settings.
    if not ports and _is_of_this_host(settings.AGUI_LOCAL_URL):
        ports = [settings.PORT]
    public = [settings.AGUI_PUBLIC_URL] if settings.AGUI_PUBLIC_URL else []
    urls = [*(f"http://127.0.0.1:{port}" for port in ports), *public]
    if not urls:
        yield "web was not tried without AGUI_PUBLIC_URL"
    for url in urls:
        yield _web(url)


def _is_of_this_host(url: str) -> bool:
    """Whether a web process with our SECRET_KEY answers there."""
    try:
        with client() as web, web.stream("GET", url + proxy_probe.path()) as answer:
            return "text/event-stream" in answer.headers.get("content-type", "")
    except httpx.HTTPError:
        return False


def _web(url: str) -> str | Fault:
    key, is_public = settings.AGUI_METRICS_KEY, url == settings.AGUI_PUBLIC_URL
    try:
        with client() as web:
            answer = web.get(f"{url}/metrics", headers={"authorization": f"Bearer {key}"})
    except httpx.HTTPError as error:
        return Fault(
            f"{url}/metrics cannot be reached: {type(error).__name__}.",
            "Correct AGUI_PUBLIC_URL, or its proxy; the line of public url has the reason."
            if is_public
            else "Look into the log of this web process.",
        )
    if answer.status_code == httpx.codes.OK and "agui_build_info" in answer.text:
        return f"web at {url}/metrics"
    return Fault(
        f"{url}/metrics does not accept AGUI_METRICS_KEY: {answer.status_code}.",
        "Give web and this process the same key, and "
        + ("let the proxy pass the header." if is_public else "start web again."),
    )
