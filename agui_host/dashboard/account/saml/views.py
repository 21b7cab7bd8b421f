"""The three addresses of SAML: to the provider, back from it, and our metadata.

The provider's response is a POST of a foreign page, with which browsers send no ``Lax`` cookie. Its
page here posts the same values again, now from this site: so nothing of a stranger is stored, and
no XML is parsed before the session has the request that the response answers.
"""

from typing import Any

import structlog
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.helpers import complete_social_login, render_authentication_error
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.base.utils import respond_to_login_on_get
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from agui_host.dashboard.account.leaving import left_by_page
from agui_host.dashboard.account.saml import identity_provider
from agui_host.dashboard.pages import posted_from, refused
from agui_host.errors import Unavailable

log = structlog.get_logger(__name__)
AGAIN = "again"
"""The field that our page adds."""


def _provider(request: HttpRequest) -> Any:
    """Raises Http404 where SAML is not configured."""
    try:
        return get_adapter().get_provider(request, "saml")
    except SocialApp.DoesNotExist:
        raise Http404 from None


def _away(request: HttpRequest, error: identity_provider.Lost) -> HttpResponse:
    log.warning("saml.lost", error=str(error))
    return refused(request, Unavailable("The sign-in service does not answer."))


def _failed(request: HttpRequest, provider: Any, reason: str) -> HttpResponse:
    log.warning("saml.refused", reason=reason)
    answer: HttpResponse = render_authentication_error(request, provider)
    return answer


def login(request: HttpRequest) -> HttpResponse:
    """To the identity provider."""
    provider = _provider(request)
    page: HttpResponse | None = respond_to_login_on_get(request, provider)
    try:
        return page or left_by_page(request, provider.redirect_from_request(request))
    except identity_provider.Lost as error:
        return _away(request, error)


@csrf_exempt
@posted_from("account_login")
def consume(request: HttpRequest) -> HttpResponse:
    """Back from the identity provider (its assertion consumer service)."""
    provider = _provider(request)
    posted, request_id = (request.POST.get(name, "") for name in ("SAMLResponse", "RelayState"))
    if AGAIN not in request.POST:
        values = {"posted": posted, "request_id": request_id}
        return render(request, "account/arriving.html", values)
    try:
        state = provider.unstash_redirect_state(request, request_id)
    except PermissionDenied:
        return _failed(request, provider, "this browser has not asked for it, or used it")
    return _completed(request, provider, posted, request_id, state)


def _completed(
    request: HttpRequest, provider: Any, posted: str, request_id: str, state: dict[str, Any]
) -> HttpResponse:
    from agui_host.dashboard.account.saml import responses
    from agui_host.dashboard.account.saml.provider import NoLastingName

    try:
        assertion = responses.judged(posted, request_id)
        sign_in = provider.sociallogin_from_response(request, assertion)
    except identity_provider.Lost as error:
        return _away(request, error)
    except responses.Refused as error:
        return _failed(request, provider, str(error))
    except NoLastingName:
        return _failed(request, provider, "it has no lasting name of the person")
    sign_in.state = state
    answer: HttpResponse = complete_social_login(request, sign_in)
    return answer


@require_safe
def metadata(request: HttpRequest) -> HttpResponse:
    """This host, as an identity provider imports it."""
    _provider(request)
    from agui_host.dashboard.account.saml import service

    return HttpResponse(service.described(), content_type="application/samlmetadata+xml")
