"""The address of a run's stream."""

from agui_host.dialects.durable_streams import description
from agui_host.dialects.durable_streams.endpoints import durable_stream
from agui_host.dialects.wire_format import Reader, WireFormat
from agui_host.web.addresses.route import Route

JUDGE = "tests/conformance/dialects/test_durable_streams.py"

FORMAT = WireFormat(
    readers=(Reader("Durable Streams", "/api/v1/runs/{id}/stream", JUDGE),),
    routes=(Route(address="api/v1/runs/<uuid:run_id>/stream", app=durable_stream),),
    operations=description.OPERATIONS,
)
