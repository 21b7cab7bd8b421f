"""The certificate of AGUI_PUBLIC_URL."""

import socket
import ssl
import time
from urllib.parse import urlsplit

from django.conf import settings

from agui_host.doctor.findings import Fault, check

SECONDS = 5.0
A_DAY = 86_400
LEAST_DAYS = 14
"""Services renew certificates a month before their end."""


@check("certificate", needs="public url")
def certificate() -> str | list[Fault]:
    """Whether it is valid for two weeks more."""
    url = urlsplit(settings.AGUI_PUBLIC_URL)
    if url.scheme != "https" or not url.hostname:
        return "no https"
    context = ssl.create_default_context()
    address = (url.hostname, url.port or 443)
    with (
        socket.create_connection(address, SECONDS) as plain,
        context.wrap_socket(plain, server_hostname=url.hostname) as secured,
    ):
        end = ssl.cert_time_to_seconds(str((secured.getpeercert() or {})["notAfter"]))
    days = (end - time.time()) / A_DAY
    if days >= LEAST_DAYS:
        return f"valid for {days:.0f} days"
    return [
        Fault(
            f"The certificate of {url.hostname} expires in {max(0, days):.0f} days.",
            "Renew it, and let the proxy load it again.",
        )
    ]
