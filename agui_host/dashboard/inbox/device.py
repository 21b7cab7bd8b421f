"""The dashboard as an app of a phone: its manifest, its service worker, and notifications."""

from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from agui_host.dashboard.pages import action
from agui_host.protocol.errors import HostError
from agui_host.security.web_push import Keys
from agui_host.teams.authentication import Principal
from runs.access.notices import push
from runs.access.notices.push import Address

BACKGROUND = "#10141c"


@require_safe
def manifest(request: HttpRequest) -> HttpResponse:
    """The manifest with which a browser installs the dashboard."""
    icon = {"src": staticfiles_storage.url("favicon.svg"), "sizes": "any", "type": "image/svg+xml"}
    content = {
        "name": "AG-UI run host",
        "short_name": "Runs",
        "id": "/inbox/",
        "start_url": "/inbox/",
        "scope": "/",
        "display": "standalone",
        "background_color": BACKGROUND,
        "theme_color": BACKGROUND,
        "icons": [icon],
    }
    return JsonResponse(content, content_type="application/manifest+json")


@require_safe
def service_worker(request: HttpRequest) -> HttpResponse:
    """The script that shows notifications; at the root, since it serves all pages."""
    answer = HttpResponse(_script(), content_type="text/javascript; charset=utf-8")
    answer.headers["Cache-Control"] = "no-cache"
    return answer


@action("inbox")
def turn_on(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Tell this browser of questions; the answer to its script, which shows the error."""
    keys = Keys(request.POST.get("p256dh", ""), request.POST.get("auth", ""))
    try:
        push.turn_on(principal, Address(request.POST.get("endpoint", ""), keys))
    except HostError as error:
        return JsonResponse({"error": {"message": error.message}}, status=error.status)
    return HttpResponse(status=204)


@action("inbox")
def turn_off(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Tell this browser of no more questions."""
    push.turn_off(principal, request.POST.get("endpoint", ""))
    return HttpResponse(status=204)


@lru_cache(1)
def _script() -> bytes:
    return (Path(settings.BASE_DIR) / "static" / "js" / "service-worker.mjs").read_bytes()
