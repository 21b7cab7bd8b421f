"""The toy's address."""

from agui_host.dialects.toy.endpoints import say
from agui_host.dialects.toy.fold import Words

from agui_host.dialects.resources import resource
from agui_host.dialects.wire_format import Reader, WireFormat
from agui_host.kinds import START
from agui_host.protocol.errors import HostError
from agui_host.web.addresses.operation import FRAMES, Operation
from agui_host.web.addresses.route import Route
from agui_host.web.addresses.shapes import members, ref, text

FORMAT = WireFormat(
    readers=(
        Reader("Toy", "POST /toy/{slug}", "tests/dialects/test_toy_dialect.py", Words),
    ),
    routes=(
        Route(
            address="toy/<slug:slug>",
            app=resource({"POST": say}, HostError.as_json),
            post=START,
        ),
    ),
    operations=(
        Operation(
            "post", "/toy/{slug}", "toy_say", "Say something to an agent.", {200: FRAMES},
            ref("ToyRequest"), tag="toy",
        ),
    ),
    shapes={"ToyRequest": members("say", "to", say=text(), to=text())},
)  # fmt: skip
