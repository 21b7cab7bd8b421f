"""CopilotKit's addresses: its runtime, and the channel of its Intelligence client."""

from agui_host.dialects.copilotkit import description, urls
from agui_host.dialects.copilotkit.endpoints import intelligence_connect, intelligence_run
from agui_host.dialects.copilotkit.socket import intelligence_socket
from agui_host.dialects.wire_format import Reader, WireFormat
from agui_host.kinds import JOIN, START
from agui_host.web.addresses.route import TICKET, Route, is_post

JUDGE = "tests/conformance/dialects/test_intelligence.py"
AGENT = r"^(?:api/)?agui/intelligence/agent/(?P<slug>[-\w]+)"
SOCKET = "agui/intelligence/socket/websocket"

FORMAT = WireFormat(
    readers=(Reader("CopilotKit Intelligence", "/agui/intelligence", JUDGE),),
    routes=(
        Route(address=AGENT + "/run/?$", app=intelligence_run, post=START, when=is_post),
        Route(address=AGENT + "/connect/?$", app=intelligence_connect, post=JOIN, when=is_post),
    ),
    sockets=(Route(address=SOCKET, app=intelligence_socket, callers=TICKET),),
    views=tuple(urls.urlpatterns),
    operations=description.OPERATIONS,
    shapes=description.SHAPES,
)
