"""The API's description, made once per process, and the page for trying the API."""

import functools
import hashlib
import threading
from typing import Any, NamedTuple, cast

from csp.decorators import csp_update
from django.http import HttpRequest, HttpResponseBase, HttpResponseNotModified
from django.http.response import HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.decorators import method_decorator
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView
from rest_framework.request import Request

_making = threading.Lock()


class Made(NamedTuple):
    """The description in one format."""

    body: bytes
    etag: str


class Description(SpectacularAPIView):
    """The same for everybody: neither ``?version=`` nor the caller changes it.

    Making it takes seconds of the interpreter; 40 strangers at once would take those from all
    streams of the process.
    """

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """As YAML, or as JSON with ``?format=json`` or an Accept header; 304 for its ETag."""
        renderer: Any = request.accepted_renderer
        with _making:  # the second request waits for the first one's work instead of repeating it
            made = _made(renderer.__class__)
        kind = f"{request.accepted_media_type}; charset=utf-8"
        answer = HttpResponse(made.body, content_type=kind)
        answer["ETag"] = made.etag
        answer["Content-Disposition"] = f'inline; filename="ag-ui-run-host.{renderer.format}"'
        conditional = get_conditional_response(
            cast(HttpRequest, request), etag=made.etag, response=answer
        )
        if isinstance(conditional, HttpResponseNotModified):
            conditional["ETag"] = made.etag
        return conditional or answer


@functools.cache
def _made(renderer: Any) -> Made:
    body: bytes = renderer().render(_schema(), renderer_context={})
    return Made(body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


@functools.cache
def _schema() -> dict[str, Any]:
    generator: Any = SpectacularAPIView.generator_class()
    return dict(generator.get_schema(request=None, public=True))


@method_decorator(csp_update({"img-src": ["data:"]}), name="dispatch")
class ApiDocs(SpectacularSwaggerView):
    """Its one inline script carries the nonce (templates/swagger_ui.html); icons are ``data:``."""

    template_name = "swagger_ui.html"
