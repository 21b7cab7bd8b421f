"""A2A's addresses, for the team's default agent and below each agent."""

from agui_host.dialects.a2a import endpoints as a2a
from agui_host.dialects.a2a import push_endpoints as push
from agui_host.dialects.a2a import rpc_endpoints as rpc
from agui_host.dialects.a2a.fold import Task
from agui_host.dialects.resources import Handle
from agui_host.dialects.wire_format import Reader, WireFormat
from agui_host.kinds import JOIN, START, WRITE, Kind
from agui_host.web.addresses.route import ANYONE, Route, is_get

JUDGE = "tests/conformance/dialects/test_a2a.py"
ROOTS = ("a2a", "a2a/<slug:slug>")
ADDRESSES = (r"^a2a/?$", r"^a2a/(?P<slug>[-\w]+)/?$")
"""What people copy: the team's address and an agent's. The JavaScript SDK resolves a card's path
against an address as browsers do, so it needs the slash, or no path at all.
"""
CARD = ".well-known/agent-card.json"
CONFIGS = "tasks/<str:task>/pushNotificationConfigs"
RESOURCES: dict[str, dict[str, Handle]] = {
    "message:send": {"POST": a2a.send_message},
    "message:stream": {"POST": a2a.stream_message},
    "tasks": {"GET": a2a.tasks},
    "tasks/<str:task>:subscribe": {"GET": a2a.subscribe, "POST": a2a.subscribe},
    "tasks/<str:task>:cancel": {"POST": a2a.cancel},
    CONFIGS: {"GET": push.listed, "POST": push.create},
    f"{CONFIGS}/<str:name>": {"GET": push.get, "DELETE": push.delete},
    "tasks/<str:task>": {"GET": a2a.get},
    CARD: {"GET": a2a.card},
}
CARDS = a2a.resource(RESOURCES[CARD])
POSTS: dict[str, Kind] = {
    "message:send": START,
    "message:stream": START,
    "tasks/<str:task>:subscribe": JOIN,
}

FORMAT = WireFormat(
    readers=(Reader("A2A", "POST /a2a/{slug}/message:stream", JUDGE, Task),),
    routes=(
        *(
            Route(
                address=f"{root}/{address}",
                app=a2a.resource(methods),
                post=POSTS.get(address, WRITE),
            )
            for root in ROOTS
            for address, methods in RESOURCES.items()
        ),
        Route(address=CARD, app=CARDS),
        *(Route(address=each, app=CARDS, when=is_get) for each in ADDRESSES),
        *(
            Route(address=each, app=rpc.resource({"POST": rpc.call}), post=START)
            for each in ADDRESSES
        ),
        Route(address="^a2a/", app=a2a.nowhere, callers=ANYONE),
    ),
)
