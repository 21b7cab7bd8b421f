"""AGUI_PUBLIC_URL, as a client's requests reach it: through the proxy."""

import http.client
import socket
import ssl
import time
from typing import Any
from urllib.parse import urlsplit

import httpx
from django.conf import settings

from agui_host.backends.postgres import clock
from agui_host.doctor.findings import Fault, check
from agui_host.web import proxy_probe

SECONDS = 5.0
A_DAY = 86_400
LEAST_DAYS = 14
LEAST_PART = 0.2
"""Services renew certificates when a third of their time is left; some live for days or hours."""
UNSET = "AGUI_PUBLIC_URL is not set"
SEE = "docs/operations.md#a-proxy-in-front"
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "ZG9jdG9yLWRvY3Rvci1kbw==",
}
COMPRESSED = {"accept": "text/event-stream", "accept-encoding": "gzip, deflate, br, zstd"}


def client() -> httpx.Client:
    """A client that trusts this machine's certificates and ignores the environment's proxies."""
    return httpx.Client(verify=ssl.create_default_context(), trust_env=False, timeout=SECONDS)


@check("public url")
def public_url() -> str | list[Fault]:
    """Whether this host answers there, by the name and scheme that people type."""
    url = settings.AGUI_PUBLIC_URL
    if not url:
        return UNSET
    try:
        with client() as web:
            health, page = web.get(f"{url}/health"), web.get(f"{url}/")
    except httpx.HTTPError as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        return [
            Fault(
                f"{url} cannot be reached from this machine: {reason}.",
                "Check the name, the certificate and the proxy, or correct AGUI_PUBLIC_URL.",
            )
        ]
    if not _is_ours(health):
        return [
            Fault(
                f"{url}/health is not this host's: it answers {health.status_code}.",
                f"Let the proxy pass every path to the web processes ({SEE}).",
            )
        ]
    if page.status_code == httpx.codes.BAD_REQUEST:
        return [
            Fault(
                f"{url}/ is refused: the proxy does not pass the Host header on.",
                f"proxy_set_header Host $http_host, or its like ({SEE}).",
            )
        ]
    if page.has_redirect_location and httpx.URL(url).join(page.headers["location"]) == f"{url}/":
        return [
            Fault(
                f"{url}/ leads to itself: the host takes its requests for plain HTTP.",
                "Let the proxy set X-Forwarded-Proto, and set AGUI_TRUSTED_PROXIES=1.",
            )
        ]
    return url


def _is_ours(answer: httpx.Response) -> bool:
    try:
        return bool(answer.json().get("protocol") == "AG-UI")
    except (ValueError, AttributeError):
        return False


@check("websockets", needs="public url")
def websockets() -> str | list[Fault]:
    """Whether the proxy passes a socket's upgrade on."""
    url = urlsplit(settings.AGUI_PUBLIC_URL)
    if not url.hostname:
        return UNSET
    connection: Any
    if url.scheme == "https":
        context = ssl.create_default_context()
        connection = http.client.HTTPSConnection(url.netloc, timeout=SECONDS, context=context)
    else:
        connection = http.client.HTTPConnection(url.netloc, timeout=SECONDS)
    try:
        connection.request("GET", proxy_probe.path(), headers=UPGRADE)
        with connection.getresponse() as answer:
            status = answer.status
    finally:
        connection.close()
    if status == http.client.SWITCHING_PROTOCOLS:
        return "pass through"
    return [
        Fault(
            f"A websocket to {url.geturl()} is not accepted: {status}.",
            f"Let the proxy pass Upgrade and Connection on, with HTTP/1.1 ({SEE}).",
        )
    ]


@check("streams", needs="public url")
def streams() -> str | list[Fault]:
    """Whether each event arrives when it is sent."""
    url = settings.AGUI_PUBLIC_URL
    if not url:
        return UNSET
    arrivals: list[float] = []
    with client() as web, web.stream("GET", url + proxy_probe.path(), headers=COMPRESSED) as answer:
        if "text/event-stream" not in answer.headers.get("content-type", ""):
            return [
                Fault(
                    f"{url} does not open the doctor's stream: {answer.status_code}.",
                    "Give web and this process the same SECRET_KEY and version.",
                )
            ]
        coding = answer.headers.get("content-encoding", "")
        text = ""
        for piece in answer.iter_text():
            text += piece
            arrivals += [time.monotonic()] * (text.count("\n\n") - len(arrivals))
    if len(arrivals) == len(proxy_probe.EVENTS):
        if arrivals[-1] - arrivals[0] > proxy_probe.PAUSE / 2:
            return "arrive event by event"
        if coding:
            return [
                Fault(
                    f"The proxy compresses streams ({coding}), and holds events back for that.",
                    "Exclude text/event-stream from its compression"
                    " (docs/operations.md#compression).",
                )
            ]
    return [
        Fault(
            "The proxy buffers streams: events arrive together at their end.",
            f"proxy_buffering off, or its like ({SEE}).",
        )
    ]


@check("certificate", needs="public url")
def certificate() -> str | list[Fault]:
    """Whether it is valid for two weeks more, or a fifth of its time if it is a short one."""
    url = urlsplit(settings.AGUI_PUBLIC_URL)
    if url.scheme != "https" or not url.hostname:
        return "no https"
    context = ssl.create_default_context()
    address = (url.hostname, url.port or 443)
    with (
        socket.create_connection(address, SECONDS) as plain,
        context.wrap_socket(plain, server_hostname=url.hostname) as secured,
    ):
        fields = secured.getpeercert() or {}
    begin, end = (ssl.cert_time_to_seconds(str(fields[name])) for name in ("notBefore", "notAfter"))
    left = end - clock.seconds()
    if left >= min(LEAST_DAYS * A_DAY, LEAST_PART * (end - begin)):
        return f"valid for {left / A_DAY:.1f} days"
    return [
        Fault(
            f"The certificate of {url.hostname} expires in {max(0, left) / A_DAY:.1f} days.",
            "Renew it, and let the proxy load it again.",
        )
    ]
