"""A UIMessage, added up from its chunks as ``processUIMessageStream`` of ``ai`` 7 does it.

So a page that hydrates holds the same ids and parts as one that was there.
"""

from protocol.dialects.fold import Frame, text_of

MEDIA = frozenset({"image", "audio", "video", "document"})


class UIMessage:
    """The assistant's message; ``feed`` it every chunk of its stream."""

    def __init__(self) -> None:
        self._id = ""
        self._metadata: Frame = {}
        self._parts: list[Frame] = []
        self._open: dict[tuple[str, str], tuple[Frame, list[str]]] = {}
        self._calls: dict[str, Frame] = {}
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
        if rule := self._rules.get(chunk["type"]):
            rule(chunk)
        elif chunk["type"].startswith("data-") and not chunk.get("transient"):
            self._data(chunk)

    def wire(self) -> Frame:
        """The message so far, including parts that are still open."""
        for part, pieces in self._open.values():
            part["text"] = "".join(pieces)
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
        self._open[kind, chunk["id"]] = part, []
        self._parts.append(part)

    def _delta(self, chunk: Frame) -> None:
        self._open[chunk["type"].removesuffix("-delta"), chunk["id"]][1].append(chunk["delta"])

    def _end(self, chunk: Frame) -> None:
        if part := self._close(chunk["type"].removesuffix("-end"), chunk["id"]):
            part["state"] = "done"

    def _close(self, kind: str, key: str) -> Frame | None:
        part, pieces = self._open.pop((kind, key), (None, []))
        if part is not None:
            part["text"] = "".join(pieces)
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
        values: Frame = {
            member: chunk[member] for member in ("input", "errorText") if member in chunk
        }
        for member in ("input", "output", "errorText", "rawInput"):
            part.pop(member, None)
        part |= {**name, **executed, "state": state, **values}
        self._calls[key] = part

    def _in_step(self, key: str, *, dynamic: bool) -> Frame | None:
        for part in reversed(self._parts):
            if part["type"] == "step-start":
                return None
            if part.get("toolCallId") == key and (part["type"] == "dynamic-tool") is dynamic:
                return part
        return None

    def _input(self, chunk: Frame) -> None:
        part = self._calls[chunk["toolCallId"]]
        part["rawInput"] = part.get("rawInput", "") + chunk["inputTextDelta"]

    def _output(self, chunk: Frame) -> None:
        part = self._calls.get(chunk["toolCallId"])
        if part is not None:
            part.pop("errorText", None)
            part.pop("output", None)
            part["state"] = chunk["type"].removeprefix("tool-")
            part |= {name: chunk[name] for name in ("output", "errorText") if name in chunk}

    def _request(self, chunk: Frame) -> None:
        approval = {"id": chunk["approvalId"], "descriptor": chunk["approvalDescriptor"]}
        if "reason" in chunk:
            approval["requestReason"] = chunk["reason"]
        part = self._calls[chunk["toolCallId"]]
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
                part["data"] = chunk["data"]
                return
        self._parts.append(dict(chunk))


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
