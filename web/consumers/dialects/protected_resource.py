"""/.well-known/oauth-protected-resource: how a client of /mcp gets in (RFC 9728).

No authorization server is named, as the host takes no access tokens: keys are the credentials.
"""

from agui_project.errors import MethodNotAllowed
from web.asgi_http import Request, answer_json, endpoint
from web.scope import Send

PATH = "/.well-known/oauth-protected-resource"
RESOURCE = "/mcp"
HEADERS = {"cache-control": "public, max-age=3600", "access-control-allow-origin": "*"}


@endpoint
async def protected_resource(request: Request, send: Send) -> None:
    """The metadata of the resource; the same for everybody."""
    if request.scope["method"] != "GET":
        raise MethodNotAllowed(headers={"allow": "GET"})
    metadata = {
        "resource": request.base + RESOURCE,
        "resource_name": "AG-UI run host",
        "bearer_methods_supported": ["header"],
    }
    await answer_json(send, 200, metadata, HEADERS)


def challenge(request: Request) -> str:
    """What a request without a credential is answered with."""
    return f'Bearer realm="agui", resource_metadata="{request.base}{PATH}{RESOURCE}"'
