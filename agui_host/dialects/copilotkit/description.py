"""CopilotKit's operations in the API's description."""

from agui_host.web.addresses.operation import JSON, KEY, PAGE, Operation, as_json
from agui_host.web.addresses.shapes import (
    ANY_OBJECT,
    ANYTHING,
    FLAG,
    NULLABLE_TEXT,
    OBJECTS,
    Json,
    members,
    ref,
    text,
)

THREADS = "/agui/threads/{thread_id}"
OPERATIONS = (
    Operation(
        "post", "/agui/agent/{slug}/stop/{thread_id}", "agui_agent_stop",
        "Cancel the active runs of a thread, or one of them.", as_json("StopAnswer"),
        ref("StopRequest"), {"runId": text()}, body_needed=False,
    ),
    Operation("get", "/agui/info", "agui_info", "The agents and their capabilities.",
              as_json("AgentsInfo")),
    Operation("get", "/agui/threads", "agui_threads", "The team's threads, newest activity first.",
              as_json("CopilotThreads"), query={"agentId": text(), **PAGE}),
    Operation("get", f"{THREADS}/messages", "agui_thread_messages",
              "The newest messages, oldest first.", as_json("CopilotMessages"), query=PAGE),
    Operation("get", f"{THREADS}/events", "agui_thread_events",
              "The stored events of all runs, oldest first.", as_json("CopilotEvents"), query=PAGE),
    Operation("get", f"{THREADS}/state", "agui_thread_state", "The state.",
              as_json("CopilotState")),
    Operation("get", "/agui/intelligence/info", "intelligence_info",
              "The agents, for CopilotKit's Intelligence client.", as_json("AgentsInfo")),
    Operation("post", "/agui/intelligence/agent/{slug}/run", "intelligence_run",
              "Start a run whose events come through a channel.", {200: {JSON: ANY_OBJECT}},
              ref("RunAgentInput"), headers=KEY),
    Operation("post", "/agui/intelligence/agent/{slug}/connect", "intelligence_connect",
              "The channel of a thread; 204 for one without runs.",
              {200: {JSON: ANY_OBJECT}, 204: {}}, ref("RunAgentInput")),
)  # fmt: skip
SHAPES: dict[str, Json] = {
    "AgentsInfo": members(
        "agents",
        service=text(),
        version=text(),
        mode=text(),
        agents={"type": "object", "additionalProperties": ANY_OBJECT},
    ),
    "StopRequest": members(runId=text("Only this run of the thread.")),
    "StopAnswer": members("stopped", stopped=FLAG, message=text(), interrupt=ANY_OBJECT),
    "CopilotThreads": members("threads", threads=OBJECTS, nextCursor=NULLABLE_TEXT),
    "CopilotMessages": members("messages", messages=OBJECTS, nextCursor=NULLABLE_TEXT),
    "CopilotEvents": members("events", events=OBJECTS, nextCursor=NULLABLE_TEXT),
    "CopilotState": members(state=ANYTHING),
}  # fmt: skip
