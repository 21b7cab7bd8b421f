"""Translates events of AG-UI 0.x, which some agents still send, to AG-UI 1.0.

THINKING_* and ``binary`` parts follow the compatibility layer of ``@ag-ui/client`` 1.0.0. That
client does not know the draft of interrupts that agents implemented before 1.0 settled it:
RUN_FINISHED with ``outcome: "interrupt"`` beside ``interrupt: {id?, reason?, payload?}``.
"""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

from protocol.values import members_of

Members = Mapping[Any, Any]

THINKING = frozenset(
    {
        "THINKING_START", "THINKING_END", "THINKING_TEXT_MESSAGE_START",
        "THINKING_TEXT_MESSAGE_CONTENT", "THINKING_TEXT_MESSAGE_END",
    }
)  # fmt: skip
MEDIA = frozenset({"image", "audio", "video"})
OUTCOMES = frozenset({"success", "interrupt", "cancelled"})
DEFAULT_REASON = "input_required"
_INTERRUPT = {
    "id", "reason", "message", "metadata", "subagentRunId", "subagent_run_id",
    "toolCallId", "tool_call_id", "responseSchema", "response_schema", "expiresAt", "expires_at",
}  # fmt: skip


class Legacy:
    """The translation of one run. Calls ``translated`` once for each retired form."""

    def __init__(self, translated: Callable[[], object] = lambda: None) -> None:
        self._translated = translated
        self._seen: set[str] = set()
        self._span: str | None = None
        self._message: str | None = None

    def dump(self) -> dict[str, Any]:
        """The open parts and the forms translated so far, as JSON."""
        return {"seen": sorted(self._seen), "span": self._span, "message": self._message}

    def load(self, dumped: dict[str, Any]) -> None:
        """Take over what ``dump`` wrote."""
        self._seen = set(dumped["seen"])
        self._span, self._message = dumped["span"], dumped["message"]

    def event(self, kind: str, members: Members) -> dict[Any, Any] | None:
        """A THINKING_* event as its REASONING_* event; None for any other.

        These events carry no id. One that continues something never opened gets an id as well, and
        the rules of order deal with it.
        """
        match kind:
            case "THINKING_START":
                self._span = named = str(uuid4())
            case "THINKING_END":
                named, self._span = self._span or str(uuid4()), None
            case "THINKING_TEXT_MESSAGE_START":
                self._message = named = str(uuid4())
            case "THINKING_TEXT_MESSAGE_CONTENT":
                self._message = named = self._message or str(uuid4())
            case "THINKING_TEXT_MESSAGE_END":
                named, self._message = self._message or str(uuid4()), None
            case _:
                return None
        self._tell("thinking")
        modern = kind.replace("THINKING_TEXT_", "REASONING_").replace("THINKING_", "REASONING_")
        return {**members, "type": modern, "messageId": named}

    def ending(self, members: Members, run_id: str) -> Members:
        """A RUN_FINISHED in the form of 1.0 if its outcome is a string or an ``interrupt``."""
        name, draft = members.get("outcome"), members.get("interrupt")
        if name is None and draft is not None:
            name = "interrupt"
        if not isinstance(name, str) or name not in OUTCOMES:
            return members
        self._tell("outcome")
        outcome: dict[str, Any] = {"type": str.__str__(name)}
        if name == "interrupt":
            several = members.get("interrupts")
            drafts = several if isinstance(several, list | tuple) and several else [draft or {}]
            outcome["interrupts"] = [
                _interrupt(members_of(entry), f"{run_id}-{number}")
                for number, entry in enumerate(drafts, 1)
            ]
        return {**members, "outcome": outcome}

    def _tell(self, form: str) -> None:
        if form not in self._seen:
            self._seen.add(form)
            self._translated()


def _interrupt(members: Members, minted: str) -> dict[Any, Any]:
    """An interrupt of the draft; 1.0 has no place for its ``payload`` but the metadata."""
    modern = {key: value for key, value in members.items() if key in _INTERRUPT}
    if members.get("payload") is not None:
        metadata = modern.get("metadata")
        modern["metadata"] = {**(members_of(metadata) if metadata else {})}
        modern["metadata"].setdefault("payload", members["payload"])
    modern["id"] = modern.get("id") or minted
    modern["reason"] = modern.get("reason") or DEFAULT_REASON
    return modern


def media_part(members: Members) -> Members:
    """A ``binary`` part as the media part of its type; one with only an id has no successor."""
    mime = members.get("mimeType", members.get("mime_type"))
    if not isinstance(mime, str):
        return members
    kind = mime.partition("/")[0]
    part: dict[str, Any] = {"type": kind if kind in MEDIA else "document"}
    if filename := members.get("filename"):
        part["metadata"] = {"filename": filename}
    for source, name in (("data", "data"), ("url", "url")):
        if value := members.get(name):
            return part | {"source": {"type": source, "value": value, "mimeType": mime}}
    return members


def unmirrored(parts: list[Any], translated: list[Any]) -> list[Any]:
    """``parts`` without translated parts of 0.x that duplicate a part of 1.0 beside them.

    Producers that serve old and new clients send an attachment twice.
    """
    ours = {id(part) for part in translated}
    modern = [part for part in parts if id(part) not in ours]
    return [part for part in parts if id(part) not in ours or not _mirrored(part, modern)]


def _mirrored(part: dict[str, Any], modern: list[Any]) -> bool:
    filename = part.get("metadata", {}).get("filename")
    return any(
        other["type"] == part["type"]
        and other["source"] == part["source"]
        and (filename is None or _filename(other) == filename)
        for other in modern
    )


def _filename(part: Mapping[str, Any]) -> Any:
    metadata = part.get("metadata")
    return metadata.get("filename") if isinstance(metadata, dict) else None
