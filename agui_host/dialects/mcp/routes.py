"""MCP's addresses: one for all calls, and where its clients learn how to sign in."""

from agui_host.dialects.mcp.endpoints import endpoint_of_mcp, protected_resource
from agui_host.dialects.mcp.fold import CallResult
from agui_host.dialects.wire_format import Reader, WireFormat
from agui_host.kinds import START
from agui_host.web.addresses.route import ANYONE, Route

JUDGE = "tests/conformance/dialects/test_mcp.py"

FORMAT = WireFormat(
    readers=(Reader("MCP", "POST /mcp", JUDGE, CallResult, "application/json"),),
    routes=(
        Route(address="^mcp/?$", app=endpoint_of_mcp, post=START),
        *(
            Route(
                address=f".well-known/oauth-protected-resource{end}",
                app=protected_resource,
                callers=ANYONE,
            )
            for end in ("", "/mcp")
        ),
    ),
)
