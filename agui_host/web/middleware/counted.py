"""Counts each HTTP answer by its route and status."""

from agui_host.backends import metrics
from agui_host.web.addresses.router import Router
from agui_host.web.scope import Scope
from agui_host.web.tracing.traced import PROBES, route_of

OTHER = "other"
"""The route of an address that leads nowhere: clients choose those."""


def count(router: Router, scope: Scope, status: int) -> None:
    """Count an answer that begins."""
    path: str = scope["path"]
    route = path if path in PROBES else route_of(router, scope) or OTHER
    metrics.http_requests.labels(route, str(status)).inc()
