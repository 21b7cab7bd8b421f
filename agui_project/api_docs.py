"""The page that tries the API: Swagger UI, under the content policy of all pages."""

from csp.decorators import csp_update
from django.utils.decorators import method_decorator
from drf_spectacular.views import SpectacularSwaggerView


@method_decorator(csp_update({"img-src": ["data:"]}), name="dispatch")
class ApiDocs(SpectacularSwaggerView):
    """Its one inline script carries the nonce (templates/swagger_ui.html); icons are ``data:``."""

    template_name = "swagger_ui.html"
