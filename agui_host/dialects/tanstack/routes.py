"""TanStack AI's addresses. Its POST is that of every client of AG-UI."""

from agui_host.dialects.tanstack import description
from agui_host.dialects.tanstack.endpoints import tanstack_read
from agui_host.dialects.tanstack.socket import tanstack_socket
from agui_host.dialects.wire_format import Reader, WireFormat
from agui_host.web.addresses.route import AGENT, Route, is_get

JUDGE = "tests/conformance/dialects/test_tanstack.py"

FORMAT = WireFormat(
    readers=(Reader("TanStack AI", "/agui/agent/{slug}/run", JUDGE),),
    routes=(Route(address=AGENT + "/run/?$", app=tanstack_read, when=is_get),),
    sockets=(Route(address=AGENT + "/ws/?$", app=tanstack_socket),),
    operations=description.OPERATIONS,
)
