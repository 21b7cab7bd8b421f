"""Every address of this host, and what it answers to whom. A new route needs a line here.

``Who`` is what four askers get, in this order: nobody, somebody with a revoked key, Charlie of
another team, and Alice, whose run it is. Methods that a door does not name must be refused.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

AGUI = r"^(?:api/)?agui"
CHAT = r"^api/chat/(?P<slug>[-\w]+)"
CARD = ".well-known/agent-card.json"
RESOURCE = ".well-known/oauth-protected-resource"
NOWHERE = "https://agents.example.com/agui"
THREAD, RUN = "alice-thread", "alice-run"
RPC = {"jsonrpc": "2.0", "id": 1}
SAME_NAMES = {"threadId": THREAD, "runId": RUN}
UI_MESSAGES = {
    "id": f"{THREAD}-3",
    "messages": [{"id": "u9", "role": "user", "parts": [{"type": "text", "text": "Hi."}]}],
}


class Who(NamedTuple):
    nobody: int
    revoked: int
    stranger: int
    owner: int


@dataclass(frozen=True)
class Door:
    """A route: which of its addresses to try, with what, and what comes of each method."""

    answers: dict[str, Who]
    url: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None


class Codes(NamedTuple):
    """Codes of errors; empty for none."""

    stranger: str
    owner: str


STAYS_OPEN, NEVER_OPENS = 0, -1
"""In place of a close code."""
OPEN = Who(200, 200, 200, 200)
MOVED = Who(301, 401, 301, 301)
FORGED = Who(403, 403, 403, 403)
"""A form without its CSRF token."""
PAGE = Who(302, 401, 200, 200)
RUN_PAGE = Who(302, 401, 404, 200)
FORM = {"GET": Who(302, 401, 302, 302), "POST": FORGED}
"""Where a form posts; opened as a page, it leads to that of its form."""
GONE = Who(404, 404, 404, 404)
LIST = Who(401, 401, 200, 200)
GONE_OR_UNKNOWN = Who(401, 401, 404, 404)
OBJECT = Who(401, 401, 404, 200)
START = Who(401, 401, 202, 409)
STREAM = Who(401, 401, 200, 200)
"""The stranger gets a run or thread of that name of his own, the owner joins hers."""

MESSAGES = Door(
    {"GET": OBJECT, "POST": Who(401, 401, 404, 202)},
    "api/v1/runs/{queued}/messages",
    body={"id": "m", "role": "user", "content": "Hm."},
)
A2A_MESSAGE = {
    "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Hi."}]},
    "configuration": {"returnImmediately": True},
}


def a2a_doors(place: str) -> dict[str, Door]:
    """A2A's addresses below a place: the team's, or one agent's."""
    task = "tasks/<str:task>"
    return {
        CARD: Door({"GET": LIST}, f"{place}/{CARD}"),
        "message:send": Door({"POST": LIST}, f"{place}/message:send", body=A2A_MESSAGE),
        "message:stream": Door({"POST": STREAM}, f"{place}/message:stream", body=A2A_MESSAGE),
        "tasks": Door({"GET": LIST}, f"{place}/tasks"),
        task: Door({"GET": OBJECT}, place + "/tasks/{run}"),
        f"{task}:cancel": Door({"POST": OBJECT}, place + "/tasks/{queued}:cancel"),
        # A task that has ended is not subscribed to.
        f"{task}:subscribe": Door(
            {"GET": Who(401, 401, 404, 400), "POST": Who(401, 401, 404, 400)},
            place + "/tasks/{run}:subscribe",
        ),
        f"{task}/pushNotificationConfigs": Door(
            {"GET": OBJECT, "POST": OBJECT},
            place + "/tasks/{run}/pushNotificationConfigs",
            body={"url": "https://hooks.example.com/"},
        ),
        f"{task}/pushNotificationConfigs/<str:name>": Door(
            {"GET": GONE_OR_UNKNOWN, "DELETE": GONE_OR_UNKNOWN},
            place + "/tasks/{run}/pushNotificationConfigs/none",
        ),
    }


# ``{run}`` is an ended run of Alice's, ``{queued}`` one that waits for a worker,
# ``{question}`` an open interrupt that ``{asking}`` asked, ``{apikey}`` a spare key,
# ``{failed}`` a run with failure details, ``{member}`` Bob's place in the team,
# ``{expired}`` the token of an expired link;
# ``{comment}`` and ``{grant}`` belong to ``{run}``, to whose thread ``{file}`` was attached.
DJANGO: dict[str, Door] = {
    "": Door({"GET": PAGE}),
    "usage": Door({"GET": MOVED}),
    "usage/": Door({"GET": PAGE}),
    "usage/prices": Door(FORM),
    "runs": Door({"GET": MOVED}),
    "runs/": Door({"GET": PAGE}),
    "runs/pulse": Door({"GET": Who(302, 401, 204, 200)}, "runs/pulse?active={run}"),
    "runs/import": Door({"GET": PAGE, "POST": FORGED}),
    "runs/<uuid:run_id>": Door({"GET": MOVED}, "runs/{run}"),
    "runs/<uuid:run_id>/": Door({"GET": RUN_PAGE}, "runs/{run}/"),
    "runs/<uuid:run_id>/events": Door({"GET": Who(302, 401, 302, 302)}, "runs/{run}/events"),
    "agents/run": Door({"POST": Who(401, 401, 202, 202)}, body={"task": "look"}),
    "agents/answer": Door(
        {"POST": Who(401, 401, 404, 202)}, body={"run_id": "{asking}", "request_id": "i"}
    ),
    "runs/<uuid:run_id>/cancel": Door(FORM, "runs/{queued}/cancel"),
    "runs/<uuid:run_id>/again": Door(FORM, "runs/{run}/again"),
    "runs/<uuid:run_id>/continue": Door(FORM, "runs/{run}/continue"),
    "runs/<uuid:run_id>/say": Door(FORM, "runs/{run}/say"),
    "runs/<uuid:run_id>/change": Door({"GET": RUN_PAGE, "POST": FORGED}, "runs/{run}/change"),
    "runs/<uuid:run_id>/compare": Door({"GET": RUN_PAGE}, "runs/{run}/compare"),
    "runs/<uuid:run_id>/questions": Door({"GET": RUN_PAGE}, "runs/{asking}/questions"),
    "inbox": Door({"GET": MOVED}),
    "inbox/": Door({"GET": PAGE}),
    "inbox/pulse": Door({"GET": PAGE}),
    "inbox/<uuid:interrupt_id>/answer": Door(FORM, "inbox/{question}/answer"),
    "runs/<uuid:run_id>/input": Door({"GET": RUN_PAGE}, "runs/{run}/input"),
    "api/v1/runs": Door({"GET": LIST, "POST": START}, body={"input": SAME_NAMES}),
    # An archive of another team is refused: tests/web/export/test_archives.py.
    "api/v1/runs/import": Door({"POST": Who(401, 401, 415, 415)}, body={}),
    "api/v1/runs/<uuid:run_id>": Door({"GET": OBJECT}, "api/v1/runs/{run}"),
    "api/v1/runs/<uuid:run_id>/cancel": Door(
        {"POST": Who(401, 401, 404, 202)}, "api/v1/runs/{queued}/cancel"
    ),
    "api/v1/runs/<uuid:run_id>/messages": MESSAGES,
    "api/v1/runs/<uuid:run_id>/events": Door({"GET": OBJECT}, "api/v1/runs/{run}/events"),
    "api/v1/runs/<uuid:run_id>/comments": Door(
        {"GET": OBJECT, "POST": Who(401, 401, 404, 201)},
        "api/v1/runs/{run}/comments",
        body={"text": "Hm."},
    ),
    "api/v1/runs/<uuid:run_id>/comments/<uuid:comment_id>": Door(
        {"DELETE": Who(401, 401, 404, 204)}, "api/v1/runs/{run}/comments/{comment}"
    ),
    "api/v1/runs/<uuid:run_id>/feedback": Door(
        {"GET": OBJECT, "PUT": OBJECT, "DELETE": Who(401, 401, 404, 204)},
        "api/v1/runs/{run}/feedback",
        body={"thumb": "up"},
    ),
    "api/v1/runs/<uuid:run_id>/failure": Door({"GET": OBJECT}, "api/v1/runs/{failed}/failure"),
    "api/v1/runs/<uuid:run_id>/findings": Door({"GET": OBJECT}, "api/v1/runs/{run}/findings"),
    "api/v1/runs/<uuid:run_id>/outline": Door({"GET": OBJECT}, "api/v1/runs/{run}/outline"),
    "api/v1/runs/<uuid:run_id>/state": Door({"GET": OBJECT}, "api/v1/runs/{run}/state"),
    "api/v1/runs/<uuid:run_id>/state/history": Door(
        {"GET": OBJECT}, "api/v1/runs/{run}/state/history"
    ),
    "api/v1/threads": Door({"GET": LIST}),
    "api/v1/threads/<uuid:key>": Door(
        {"GET": OBJECT, "PATCH": OBJECT, "DELETE": Who(401, 401, 404, 204)},
        "api/v1/threads/{spare}",
        body={"title": "Plan"},
    ),
    "api/v1/left-threads": Door({"GET": LIST}),
    # Alice's own, who has not left; of one who has: tests/runs/api/test_left_threads.py.
    "api/v1/left-threads/<uuid:key>": Door(
        {"DELETE": GONE_OR_UNKNOWN}, "api/v1/left-threads/{spare}"
    ),
    "api/v1/left-threads/<uuid:key>/hand-over": Door(
        {"POST": GONE_OR_UNKNOWN}, "api/v1/left-threads/{spare}/hand-over", body={"member": 1}
    ),
    "api/v1/grants": Door({"GET": LIST, "POST": Who(401, 401, 404, 201)}, body={"run": "{run}"}),
    "api/v1/grants/<uuid:grant_id>": Door(
        {"GET": OBJECT, "DELETE": Who(401, 401, 404, 204)}, "api/v1/grants/{grant}"
    ),
    # An expired link; one that works shows its run to anyone (tests/runs/access/test_links.py).
    "shared/<str:token>/": Door({"GET": GONE}, "shared/{expired}/"),
    "shared/<str:token>/runs/<uuid:run_id>/": Door({"GET": GONE}, "shared/{expired}/runs/{run}/"),
    "shared/<str:token>/runs/<uuid:run_id>/status": Door(
        {"GET": GONE}, "shared/{expired}/runs/{run}/status"
    ),
    "shared/<str:token>/runs/<uuid:run_id>/comments": Door(
        {"GET": GONE, "POST": GONE}, "shared/{expired}/runs/{run}/comments", body={"text": "Hm."}
    ),
    "shared/<str:token>/runs/<uuid:run_id>/outline": Door(
        {"GET": GONE}, "shared/{expired}/runs/{run}/outline"
    ),
    "api/v1/interrupts": Door({"GET": LIST}),
    "api/v1/interrupts/<uuid:interrupt_id>": Door({"GET": OBJECT}, "api/v1/interrupts/{question}"),
    "api/v1/interrupts/<uuid:interrupt_id>/answer": Door(
        {"POST": OBJECT}, "api/v1/interrupts/{question}/answer", body={"status": "cancelled"}
    ),
    "api/v1/tickets": Door({"POST": Who(401, 401, 404, 201)}, body={"thread_id": THREAD}),
    "api/v1/keys": Door({"GET": LIST, "POST": Who(401, 401, 201, 201)}, body={"name": "new"}),
    "api/v1/keys/<uuid:key_id>": Door({"GET": OBJECT}, "api/v1/keys/{apikey}"),
    "api/v1/keys/<uuid:key_id>/rotate": Door(
        {"POST": Who(401, 401, 404, 201)}, "api/v1/keys/{apikey}/rotate", body={}
    ),
    "api/v1/keys/<uuid:key_id>/revoke": Door({"POST": OBJECT}, "api/v1/keys/{apikey}/revoke"),
    "api/v1/members": Door({"GET": LIST}),
    "api/v1/members/<int:member_id>": Door(
        {"GET": OBJECT, "PATCH": OBJECT, "DELETE": OBJECT},
        "api/v1/members/{member}",
        body={"role": "viewer"},
    ),
    "api/v1/teams": Door({"GET": LIST}),
    "api/v1/teams/<uuid:team_id>": Door(
        {"PATCH": OBJECT}, "api/v1/teams/{team}", body={"name": "Acme Ltd"}
    ),
    "api/v1/teams/<uuid:team_id>/archive": Door(
        {"POST": Who(401, 401, 404, 204)}, "api/v1/teams/{team}/archive"
    ),
    "api/v1/agents": Door(
        {"GET": LIST, "POST": Who(401, 401, 201, 201)}, body={"slug": "new", "url": NOWHERE}
    ),
    "api/v1/agents/<slug:slug>": Door(
        {"GET": OBJECT, "PATCH": OBJECT, "DELETE": Who(401, 401, 404, 204)},
        "api/v1/agents/far",
        body={"description": "changed"},
    ),
    "api/v1/agents/<slug:slug>/versions": Door({"GET": OBJECT}, "api/v1/agents/far/versions"),
    "api/v1/runs/<uuid:run_id>/context": Door({"GET": OBJECT}, "api/v1/runs/{run}/context"),
    # One's own, and a key has none.
    "api/v1/profile": Door(
        {"GET": Who(401, 401, 403, 403), "PUT": Who(401, 401, 403, 403)}, body={"about": "Me."}
    ),
    "api/v1/audit": Door({"GET": LIST}),
    "api/v1/audit.csv": Door({"GET": LIST}),
    "api/v1/audit.ndjson": Door({"GET": LIST}),
    "api/v1/limits": Door({"GET": LIST}),
    "api/v1/usage": Door({"GET": LIST}, "api/v1/usage?by=agent,person,day"),
    "api/v1/prices": Door({"GET": LIST, "PUT": LIST}, body={"prices": []}),
    "api/v1/files": Door({"GET": LIST, "POST": Who(401, 401, 201, 201)}, body={"a": 1}),
    "api/v1/files/<uuid:file_id>": Door(
        {"GET": OBJECT, "DELETE": Who(401, 401, 404, 409)}, "api/v1/files/{file}"
    ),
    rf"{AGUI}/info/?$": Door({"GET": LIST}, "agui/info"),
    rf"{AGUI}/intelligence/info/?$": Door({"GET": LIST}, "agui/intelligence/info"),
    rf"{AGUI}/agent/(?P<slug>[-\w]+)/stop/(?P<thread_id>.+?)/?$": Door(
        {"POST": Who(401, 401, 200, 200)}, f"agui/agent/echo/stop/{THREAD}-2", body={}
    ),
    rf"{AGUI}/threads/?$": Door({"GET": LIST}, "agui/threads"),
    # CopilotKit's contract: a thread that is not there reads as an empty one.
    rf"{AGUI}/threads/(?P<thread_id>.+)/messages/?$": Door(
        {"GET": LIST}, f"agui/threads/{THREAD}/messages"
    ),
    rf"{AGUI}/threads/(?P<thread_id>.+)/events/?$": Door(
        {"GET": LIST}, f"agui/threads/{THREAD}/events"
    ),
    rf"{AGUI}/threads/(?P<thread_id>.+)/state/?$": Door(
        {"GET": LIST}, f"agui/threads/{THREAD}/state"
    ),
    # The AI SDK's contract: an unknown chat is empty.
    rf"{CHAT}/(?P<chat>.+?)/stop/?$": Door(
        {"POST": Who(401, 401, 202, 202)}, f"api/chat/echo/{THREAD}-2/stop"
    ),
    rf"{CHAT}/(?P<chat>.+?)/?$": Door({"GET": LIST}, f"api/chat/echo/{THREAD}"),
}
CONVERSATION = "v1/conversations/<str:conversation>"
ASGI: dict[str, Door] = {
    "v1/responses": Door(
        {"POST": STREAM}, body={"model": "echo", "input": "Hi.", "background": True}
    ),
    "v1/responses/<str:response>": Door(
        {"GET": OBJECT, "DELETE": OBJECT}, "v1/responses/resp_{run}"
    ),
    "v1/responses/<str:response>/cancel": Door(
        {"POST": OBJECT}, "v1/responses/resp_{queued}/cancel"
    ),
    "v1/responses/<str:response>/input_items": Door(
        {"GET": OBJECT}, "v1/responses/resp_{run}/input_items"
    ),
    "v1/conversations": Door({"POST": LIST}, body={}),
    CONVERSATION: Door(
        {"GET": OBJECT, "POST": OBJECT, "DELETE": OBJECT},
        f"v1/conversations/{THREAD}",
        body={"metadata": {}},
    ),
    f"{CONVERSATION}/items": Door(
        {"GET": OBJECT, "POST": OBJECT}, f"v1/conversations/{THREAD}/items", body={"items": []}
    ),
    f"{CONVERSATION}/items/<str:item>": Door(
        {"GET": GONE_OR_UNKNOWN, "DELETE": GONE_OR_UNKNOWN}, f"v1/conversations/{THREAD}/items/x"
    ),
    "v1/chat/completions": Door(
        {"POST": STREAM},
        body={
            "model": "echo",
            "messages": [{"role": "user", "content": "Hi."}],
            "stream": True,
        },
    ),
    "v1/models": Door({"GET": LIST}),
    "v1/models/<str:slug>": Door({"GET": LIST}, "v1/models/echo"),
    r"^v1/": Door({"GET": GONE}, "v1/nowhere"),
    rf"{CHAT}/?$": Door({"POST": STREAM}, "api/chat/echo", body=UI_MESSAGES),
    CARD: Door({"GET": LIST}, CARD),
    **{
        f"{root}/{address}": door
        for root, place in (("a2a", "a2a"), ("a2a/<slug:slug>", "a2a/echo"))
        for address, door in a2a_doors(place).items()
    },
    **{
        root: Door({"GET": LIST, "POST": LIST}, place, body={**RPC, "method": "ListTasks"})
        for root, place in ((r"^a2a/?$", "a2a"), (r"^a2a/(?P<slug>[-\w]+)/?$", "a2a/echo"))
    },
    r"^mcp/?$": Door({"POST": LIST}, "mcp", body={**RPC, "method": "resources/list"}),
    RESOURCE: Door({"GET": OPEN}, RESOURCE),
    f"{RESOURCE}/mcp": Door({"GET": OPEN}, f"{RESOURCE}/mcp"),
    r"^a2a/": Door({"GET": GONE}, "a2a/nowhere/at/all"),
    rf"{CHAT}/(?P<chat>.+)/stream/?$": Door(
        {"GET": Who(401, 401, 204, 204)}, f"api/chat/echo/{THREAD}/stream"
    ),
    rf"{AGUI}/?$": Door({"POST": STREAM}, "agui", body=SAME_NAMES),
    rf"{AGUI}/agent/(?P<slug>[-\w]+)/run/?$": Door(
        {"GET": OBJECT, "POST": STREAM},
        f"agui/agent/echo/run?offset=-1&runId={RUN}",
        body=SAME_NAMES,
    ),
    rf"{AGUI}/agent/(?P<slug>[-\w]+)/connect/?$": Door(
        {"POST": STREAM}, "agui/agent/echo/connect", body=SAME_NAMES
    ),
    rf"{AGUI}/intelligence/agent/(?P<slug>[-\w]+)/run/?$": Door(
        {"POST": STREAM}, "agui/intelligence/agent/echo/run", body=SAME_NAMES
    ),
    rf"{AGUI}/intelligence/agent/(?P<slug>[-\w]+)/connect/?$": Door(
        {"POST": Who(401, 401, 204, 200)}, "agui/intelligence/agent/echo/connect", body=SAME_NAMES
    ),
    r"^$": Door({"POST": STREAM}, "", body=SAME_NAMES),
    "runs/<uuid:run_id>/events": Door(
        {"GET": OBJECT}, "runs/{run}/events", {"accept": "text/event-stream"}
    ),
    "api/v1/runs": Door({"POST": START}, "api/v1/runs?wait=0", body={"input": SAME_NAMES}),
    "api/v1/runs/<uuid:run_id>/events": Door(
        {"GET": OBJECT}, "api/v1/runs/{run}/events", {"accept": "text/event-stream"}
    ),
    "api/v1/runs/<uuid:run_id>/messages": MESSAGES,
    "api/v1/files": Door(
        {"POST": Who(401, 401, 201, 201)}, "api/v1/files?name=new.json", body={"a": 1}
    ),
    "api/v1/files/<uuid:file_id>/content": Door(
        {"GET": OBJECT, "HEAD": OBJECT}, "api/v1/files/{file}/content"
    ),
    "metrics": Door({"GET": Who(404, 404, 404, 404)}, "metrics"),
    "api/schema/": Door({"GET": OPEN}, "api/schema/"),
    # An ended run of a hosted agent cannot be fed; a run that can:
    # tests/dialects/durable_streams/test_ingest.py.
    "api/v1/runs/<uuid:run_id>/stream": Door(
        {"GET": OBJECT, "HEAD": OBJECT, "POST": Who(401, 401, 404, 405)},
        "api/v1/runs/{run}/stream",
        {"producer-id": "p", "producer-epoch": "0", "producer-seq": "0"},
        body=[{"type": "RUN_FINISHED"}],
    ),
    "api/v1/runs/<uuid:run_id>/export": Door({"GET": OBJECT}, "api/v1/runs/{run}/export"),
    "shared/<str:token>/runs/<uuid:run_id>/events": Door(
        {"GET": GONE}, "shared/{expired}/runs/{run}/events"
    ),
    "": Door({"GET": GONE}, "nowhere"),
}
SOCKETS: dict[str, Door] = {
    "ws/": Door({"WS": Who(4401, 4401, STAYS_OPEN, STAYS_OPEN)}, "ws/"),
    "ws/runs/<uuid:run_id>/": Door({"WS": Who(4401, 4401, 4404, 1000)}, "ws/runs/{run}/"),
    rf"{AGUI}/agent/(?P<slug>[-\w]+)/ws/?$": Door(
        {"WS": Who(4401, 4401, 4404, 1000)}, f"agui/agent/echo/ws?offset=-1&runId={RUN}"
    ),
    # The ticket in the address is the credential; without one the socket never opens.
    "agui/intelligence/socket/websocket": Door(
        {"WS": Who(*[NEVER_OPENS] * 4)}, "agui/intelligence/socket/websocket"
    ),
    "": Door({"WS": Who(4404, 4404, 4404, 4404)}, "ws/nowhere/"),
}
METHODS: dict[str, tuple[dict[str, Any], Codes]] = {
    "ping": ({}, Codes("", "")),
    "ack": ({"subscription": "s1", "seq": 0}, Codes("not_found", "not_found")),
    "unsubscribe": ({"subscription": "s1"}, Codes("not_found", "not_found")),
    "run.start": ({"input": {**SAME_NAMES}}, Codes("", "run_exists")),
    "run.say": (
        {"run": "{queued}", "id": "s", "role": "user", "content": "Hm."}, Codes("not_found", "")
    ),
    "run.cancel": ({"run": "{queued}"}, Codes("not_found", "")),
    "interrupt.answer": (
        {"interrupt": "{question}", "status": "cancelled"}, Codes("not_found", "")
    ),
    "run.subscribe": ({"run": "{run}"}, Codes("not_found", "")),
    "team.subscribe": ({"after": 0}, Codes("", "")),
    "thread.subscribe": ({"thread_id": f"{THREAD}-2"}, Codes("not_found", "")),
}  # fmt: skip
"""Requests of ``ws/``: their parameters, and the error that the stranger and the owner get."""
ADMIN = "admin/"
"""Django's admin is for operators; nobody of the cast is one, so it only leads to its sign-in."""
