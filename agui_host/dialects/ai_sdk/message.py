"""A UIMessage, added up from its chunks as ``processUIMessageStream`` of ``ai`` 7 does it.

So a page that hydrates holds the same ids and parts as a page that was there.
"""

from agui_host.protocol.wire.fold import Frame, text_of
from agui_host.protocol.wire.room import Text, of_run

MEDIA = frozenset({"image", "audio", "video", "document"})


class UIMessage:
    """The assistant's message; ``feed`` it every chunk of its stream. ``run_id``: its first run."""

    def __init__(self, run_id: str = "") -> None:
        self._room = of_run(run_id)
        self._id = ""
        self._metadata: Frame = {}
        self._parts: list[Frame] = []
        self._open: dict[tuple[str, str], tuple[Frame, Text]] = {}
        self._calls: dict[str, Frame] = {}
        self._inputs: dict[str, Text] = {}
        self._rules = {
            "start": self._start,
            "message-metadata": self._start,
            "finish": self._start,
            "start-step": self._step,
            "text-start": self._text,
            "reasoning-start": self._text,
            "text-delta": self._delta,
            "reasoning-delta": self._delta,
            "text-end": self._end,
            "reasoning-end": self._end,
            "tool-input-start": self._call,
            "tool-input-delta": self._input,
            "tool-input-available": self._call,
            "tool-input-error": self._call,
            "tool-output-available": self._output,
            "tool-output-error": self._output,
            "tool-approval-request": self._request,
            "tool-approval-response": self._response,
        }

    def feed(self, chunk: Frame) -> None:
        """Take the next chunk."""
        if self._room.full and chunk["type"] not in _CLOSING:
            return
        if rule := self._rules.get(chunk["type"]):
            rule(chunk)
        elif chunk["type"].startswith("data-") and not chunk.get("transient"):
            self._data(chunk)

    def wire(self) -> Frame:
        """The message so far, including parts that are still open."""
        for part, text in self._open.values():
            part["text"] = str(text)
        for key, text in self._inputs.items():
            self._calls[key]["rawInput"] = str(text)
        metadata = {"metadata": self._metadata} if self._metadata else {}
        return {"id": self._id, "role": "assistant", **metadata, "parts": self._parts}

    def _start(self, chunk: Frame) -> None:
        self._id = chunk.get("messageId", self._id)
        self._metadata |= chunk.get("messageMetadata", {})

    def _step(self, chunk: Frame) -> None:
        self._parts.append({"type": "step-start"})

    def _text(self, chunk: Frame) -> None:
        kind = chunk["type"].removesuffix("-start")
        part: Frame = {"type": kind, "text": "", "state": "streaming"}
        if kind == "reasoning":
            part["id"] = chunk["id"]
        self._close(kind, chunk["id"])
        self._open[kind, chunk["id"]] = part, Text(self._room)
        self._parts.append(part)

    def _delta(self, chunk: Frame) -> None:
        self._open[chunk["type"].removesuffix("-delta"), chunk["id"]][1].add(chunk["delta"])

    def _end(self, chunk: Frame) -> None:
        if part := self._close(chunk["type"].removesuffix("-end"), chunk["id"]):
            part["state"] = "done"

    def _close(self, kind: str, key: str) -> Frame | None:
        part, text = self._open.pop((kind, key), (None, ""))
        if part is not None:
            part["text"] = str(text)
        return part

    def _call(self, chunk: Frame) -> None:
        """A call in any state of its input: in place if this step holds it, else as a new part."""
        key, kind = chunk["toolCallId"], f"tool-{chunk['toolName']}"
        name: Frame = {"type": kind, "toolCallId": key}
        if chunk.get("dynamic"):
            name = {"type": "dynamic-tool", "toolName": chunk["toolName"], "toolCallId": key}
        part = self._in_step(key, dynamic=bool(chunk.get("dynamic")))
        if part is None:
            part = {}
            self._parts.append(part)
        executed: Frame = {"providerExecuted": True} if chunk.get("providerExecuted") else {}
        state = _STATES[chunk["type"]]
        values = self._values(chunk, "input", "errorText")
        for member in ("input", "output", "errorText", "rawInput"):
            part.pop(member, None)
        part |= {**name, **executed, "state": state, **values}
        self._calls[key] = part
        self._inputs.pop(key, None)

    def _in_step(self, key: str, *, dynamic: bool) -> Frame | None:
        for part in reversed(self._parts):
            if part["type"] == "step-start":
                return None
            if part.get("toolCallId") == key and (part["type"] == "dynamic-tool") is dynamic:
                return part
        return None

    def _input(self, chunk: Frame) -> None:
        key = chunk["toolCallId"]
        if key not in self._inputs:
            self._inputs[key] = Text(self._room)
        self._inputs[key].add(chunk["inputTextDelta"])

    def _output(self, chunk: Frame) -> None:
        part = self._calls.get(chunk["toolCallId"])
        if part is not None:
            part.pop("errorText", None)
            part.pop("output", None)
            part["state"] = chunk["type"].removeprefix("tool-")
            part |= self._values(chunk, "output", "errorText")

    def _values(self, chunk: Frame, *names: str) -> Frame:
        return {name: self._room.value(chunk[name]) for name in names if name in chunk}

    def _request(self, chunk: Frame) -> None:
        approval = {"id": chunk["approvalId"], "descriptor": chunk["approvalDescriptor"]}
        if "reason" in chunk:
            approval["requestReason"] = chunk["reason"]
        part = self._calls.get(chunk["toolCallId"])
        if part is None:  # There was no room for the call, but there is for the question.
            name = {"toolName": chunk["approvalDescriptor"]["reason"], **_OF_SERVER}
            part = {**name, "toolCallId": chunk["toolCallId"], "input": {}}
            self._parts.append(part)
        part |= {"state": "approval-requested", "approval": approval}

    def _response(self, chunk: Frame) -> None:
        for part in self._parts:
            approval = part.get("approval")
            if approval and approval["id"] == chunk["approvalId"]:
                part["state"] = "approval-responded"
                part["approval"] = {**approval, "approved": chunk["approved"]}
                return

    def _data(self, chunk: Frame) -> None:
        for part in self._parts if "id" in chunk else ():
            if part["type"] == chunk["type"] and part.get("id") == chunk["id"]:
                part["data"] = self._room.value(chunk["data"])
                return
        self._parts.append({**chunk, **self._values(chunk, "data")})


_CLOSING = frozenset(
    {"text-end", "reasoning-end", "message-metadata", "finish"}
    | {"tool-approval-request", "tool-approval-response"}
)
"""The chunks that a message without room still takes."""
_OF_SERVER: Frame = {"type": "dynamic-tool", "providerExecuted": True}
_STATES = {
    "tool-input-start": "input-streaming",
    "tool-input-available": "input-available",
    "tool-input-error": "output-error",
}


def of_user(message: Frame) -> Frame:
    """A message of the user as a UIMessage."""
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else []
    if not isinstance(content, str):
        parts = [part for each in content if (part := _part(each))]
    return {"id": message["id"], "role": "user", "parts": parts}


def _part(part: Frame) -> Frame | None:
    if part["type"] not in MEDIA:
        return {"type": "text", "text": text_of([part])}
    source = part["source"]
    kind = source.get("mimeType") or f"{part['type'].replace('document', 'application')}/*"
    if source["type"] == "file":
        return None
    url = source["value"]
    if source["type"] == "data":
        url = f"data:{kind};base64,{url}"
    return {"type": "file", "mediaType": kind, "url": url}
