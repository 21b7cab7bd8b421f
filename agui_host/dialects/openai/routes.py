"""OpenAI's addresses, and how its clients read a run; other addresses are 404 in its own shape."""

from agui_host.dialects.openai import conversation_endpoints as conversations
from agui_host.dialects.openai import description
from agui_host.dialects.openai import endpoints as openai
from agui_host.dialects.openai.chat import ChatCompletion
from agui_host.dialects.openai.responses import Responses
from agui_host.dialects.resources import Handle
from agui_host.dialects.wire_format import Reader, WireFormat
from agui_host.kinds import START, WRITE
from agui_host.web.addresses.route import ANYONE, Route

JUDGE = "tests/conformance/dialects/test_openai.py"
STARTING = {"responses", "chat/completions"}
CONVERSATION = "conversations/<str:conversation>"
RESOURCES: dict[str, dict[str, Handle]] = {
    "responses": {"POST": openai.create},
    "responses/<str:response>": {"GET": openai.retrieve, "DELETE": openai.delete},
    "responses/<str:response>/cancel": {"POST": openai.cancel},
    "responses/<str:response>/input_items": {"GET": openai.input_items},
    "conversations": {"POST": conversations.create},
    CONVERSATION: {
        "GET": conversations.retrieve,
        "POST": conversations.update,
        "DELETE": conversations.delete,
    },
    f"{CONVERSATION}/items": {"GET": conversations.items, "POST": conversations.add},
    f"{CONVERSATION}/items/<str:item>": {
        "GET": conversations.item,
        "DELETE": conversations.remove,
    },
    "chat/completions": {"POST": openai.complete},
    "models": {"GET": openai.models},
    "models/<str:slug>": {"GET": openai.model},
}

FORMAT = WireFormat(
    readers=(
        Reader("OpenAI Responses", "POST /v1/responses", JUDGE, Responses),
        Reader("OpenAI Chat Completions", "POST /v1/chat/completions", JUDGE, ChatCompletion),
    ),
    routes=(
        *(
            Route(
                address=f"v1/{address}",
                app=openai.resource(methods),
                post=START if address in STARTING else WRITE,
            )
            for address, methods in RESOURCES.items()
        ),
        Route(address="^v1/", app=openai.nowhere, callers=ANYONE),
    ),
    operations=description.OPERATIONS,
    shapes=description.SHAPES,
)
