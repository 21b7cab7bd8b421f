"""A small client for HTTP and server-sent events, and the host that the tests of reports share."""

import http.client
import json
import socket
import urllib.parse
import uuid


class Place:
    """Where the host of these tests is; their fixture sets it."""

    url = key = password = ""

    @property
    def port(self):
        """The port of the host."""
        return urllib.parse.urlsplit(self.url).port


PLACE = Place()
OPEN = []
"""Connections and answers that a test left open; its fixture closes them."""


class Fail(AssertionError):
    pass


def need(condition, text):
    if not condition:
        raise Fail(text)


def uid(prefix=""):
    return f"{prefix}{uuid.uuid4().hex[:12]}"


def http_call(method, path, body=None, headers=None, timeout=60, key=None, raw=False):
    connection = http.client.HTTPConnection("127.0.0.1", PLACE.port, timeout=timeout)
    all_headers = {
        "Authorization": f"Bearer {PLACE.key if key is None else key}",
        "Content-Type": "application/json",
        **(headers or {}),
    }
    all_headers = {name: value for name, value in all_headers.items() if value is not None}
    connection.request(
        method, path, json.dumps(body) if isinstance(body, (dict, list)) else body, all_headers
    )
    response = connection.getresponse()
    OPEN.extend((response, connection))
    if raw:
        return connection, response
    data = response.read()
    connection.close()
    try:
        return response.status, json.loads(data)
    except ValueError:
        return response.status, data.decode(errors="replace")


def sse(response):
    """(id, event) of each frame, event parsed."""
    ident, data = None, []
    for line in response:
        line = line.decode().rstrip("\n")
        if line.startswith("id:"):
            ident = line[3:].strip()
        elif line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif line == "" and data:
            text = "\n".join(data)
            yield ident, json.loads(text) if text != "[DONE]" else text
            data = []


def stream(method, path, body=None, headers=None, timeout=60):
    connection, response = http_call(
        method, path, body, {"Accept": "text/event-stream", **(headers or {})}, timeout, raw=True
    )
    if response.status != 200:
        text = response.read().decode(errors="replace")
        connection.close()
        raise Fail(f"{method} {path}: {response.status} {text[:300]}")
    try:
        return [event for _, event in sse(response)]
    finally:
        connection.close()


def user(text="hi", **more):
    return {"id": uid("u-"), "role": "user", "content": text, **more}


def body(messages=None, thread=None, script=None, **more):
    props = more.pop("props", {})
    if script is not None:
        props = {**props, "script": script}
    return {
        "threadId": thread or uid("t-"),
        "runId": uid("r-"),
        "messages": [user()] if messages is None else messages,
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": props,
        "protocolVersion": "1.0",
        **more,
    }


def run(agent, data, timeout=60, headers=None, query=""):
    """Start a run and read it to its end."""
    return stream("POST", f"/agui/agent/{agent}/run{query}", data, headers, timeout)


def play(script, thread=None, **more):
    return run("case-play", body(thread=thread, script=script, **more))


def input_of(thread, messages=None, **more):
    """What an agent is given on the thread's next turn: the RunAgentInput."""
    events = run("case-see", body(messages, thread=thread, **more))
    return ending(events)["result"]


def ending(events):
    return events[-1]


def kinds(events):
    return [event["type"] for event in events]


def connect(thread, agent="case-play", **more):
    return stream("POST", f"/agui/agent/{agent}/connect", body([], thread=thread, **more))


def snapshot(events):
    """Messages and state as a client holds them that read these events of a prelude."""
    messages = [event["messages"] for event in events if event["type"] == "MESSAGES_SNAPSHOT"]
    state = [event["snapshot"] for event in events if event["type"] == "STATE_SNAPSHOT"]
    return (messages[-1] if messages else []), (state[-1] if state else None)


def find_run(thread):
    status, page = http_call("GET", f"/api/v1/runs?thread_id={urllib.parse.quote(thread, safe='')}")
    need(status == 200, f"runs list: {status} {page}")
    return page["results"]


def pyrun(value, where):
    events = run("case-py", body(props={"value": value, "where": where}))
    return events


def raw_socket(head, chunks, wait=0.0, read_s=20):
    s = socket.create_connection(("127.0.0.1", PLACE.port), timeout=read_s)
    s.sendall(head)
    got = b""
    if wait:
        s.settimeout(wait)
        try:
            got = s.recv(4096)
        except TimeoutError:
            got = b""
        s.settimeout(read_s)
    for chunk in chunks:
        s.sendall(chunk)
    out = got
    try:
        while b"\r\n\r\n" not in out or b"RUN_FINISHED" not in out:
            part = s.recv(65536)
            if not part:
                break
            out += part
    except TimeoutError:
        pass
    s.close()
    return got, out


def ask(thread, q=None, **interrupt):
    q = q or uid("q-")
    events = play(
        [
            {
                "type": "RUN_FINISHED",
                "threadId": "x",
                "runId": "x",
                "outcome": {
                    "type": "interrupt",
                    "interrupts": [
                        {"id": q, "reason": "confirmation", "message": "ok?", **interrupt}
                    ],
                },
            }
        ],
        thread,
    )
    need(ending(events)["outcome"]["type"] == "interrupt", str(ending(events)))
    return q


H = {"A2A-Version": "1.0"}


def a2a_send(text, agent="case-play", **message):
    data = {
        "message": {"messageId": uid(), "role": "ROLE_USER", "parts": [{"text": text}], **message}
    }
    return http_call("POST", f"/a2a/{agent}/message:send", data, H)


ASK = json.dumps(
    [
        {
            "type": "RUN_FINISHED",
            "threadId": "x",
            "runId": "x",
            "outcome": {
                "type": "interrupt",
                "interrupts": [{"id": "q-a2a", "reason": "confirmation", "message": "ok?"}],
            },
        }
    ]
)


def mcp(method, params=None, headers=None, ident=1):
    data = {"jsonrpc": "2.0", "method": method, "params": params or {}}
    if ident is not None:
        data["id"] = ident
    return http_call(
        "POST", "/mcp", data, {"Accept": "application/json, text/event-stream", **(headers or {})}
    )


def start(agent, data):
    status, run_ = http_call("POST", "/api/v1/runs", {"agent": agent, "input": data})
    need(status == 202, f"{status} {run_}")
    return run_


def chat_post(thread, messages, agent="case-play", **more):
    return http_call(
        "POST",
        f"/api/chat/{agent}",
        {"id": thread, "messages": messages, "trigger": "submit-message", **more},
    )


def ui(text, ident=None):
    return {"id": ident or uid("u-"), "role": "user", "parts": [{"type": "text", "text": text}]}
