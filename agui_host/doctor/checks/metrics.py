"""The addresses that Prometheus scrapes."""

import httpx
from django.conf import settings

from agui_host.backends.metrics import PORTS
from agui_host.doctor.checks.public_url import client
from agui_host.doctor.findings import Fault, check
from agui_host.web.health import live_workers

EVERYWHERE = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104  what an operator writes


@check("metrics", needs="migrations")
def metrics() -> str | list[Fault]:
    """Whether workers answer at AGUI_METRICS_ADDRESS, and web accepts AGUI_METRICS_KEY."""
    faults: list[Fault] = []
    places: list[str] = []
    if settings.AGUI_METRICS_ADDRESS and live_workers():
        outcome = _workers(settings.AGUI_METRICS_ADDRESS)
        _sort(outcome, places, faults)
    if settings.AGUI_METRICS_KEY and settings.AGUI_PUBLIC_URL:
        outcome = _web(settings.AGUI_PUBLIC_URL)
        _sort(outcome, places, faults)
    return faults or "; ".join(places) or "not set"


def _sort(outcome: str | Fault, places: list[str], faults: list[Fault]) -> None:
    if isinstance(outcome, str):
        places.append(outcome)
    else:
        faults.append(outcome)


def _workers(address: str) -> str | Fault:
    host, _, port = address.rpartition(":")
    here = EVERYWHERE.get(host, host)
    for candidate in range(int(port), min(int(port) + PORTS, 65_536)):
        try:
            with client() as web:
                answer = web.get(f"http://{here}:{candidate}/metrics")
        except httpx.HTTPError:
            continue
        if "agui_worker_slots" in answer.text:
            return f"workers at {here}:{candidate}"
    if host in EVERYWHERE:
        return f"workers at {address}, on other machines"
    return Fault(
        f"No worker answers scrapes at AGUI_METRICS_ADDRESS={address}, or the next ports.",
        "Look for metrics.not_served in a worker's log (docs/howto-monitoring.md).",
    )


def _web(url: str) -> str | Fault:
    headers = {"authorization": f"Bearer {settings.AGUI_METRICS_KEY}"}
    try:
        with client() as web:
            status = str(web.get(f"{url}/metrics", headers=headers).status_code)
    except httpx.HTTPError as error:
        status = type(error).__name__
    if status == "200":
        return f"web at {url}/metrics"
    return Fault(
        f"{url}/metrics does not accept AGUI_METRICS_KEY: {status}.",
        "Give web and this process the same key, and let the proxy pass the header.",
    )
