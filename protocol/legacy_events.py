"""What agents of AG-UI 0.x still send, as AG-UI 1.0 says it.

THINKING_* and ``binary`` parts follow the compatibility boundary of ``@ag-ui/client`` 1.0.0. The
draft of interrupts, which agents implemented before 1.0 settled it, is unknown to that client:
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
    """The translation of one run. ``told`` hears of each retired form once."""

    def __init__(self, told: Callable[[], object] = lambda: None) -> None:
        self._told = told
        self._seen: set[str] = set()
        self._span: str | None = None
        self._message: str | None = None

    def event(self, kind: str, members: Members) -> dict[Any, Any] | None:
        """A THINKING_* event as its REASONING_* one; None if it is none.

        Those events carry no id. What continues something that was never opened gets an id of
        its own all the same, and is left to the rules of order.
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
        """A RUN_FINISHED whose outcome is text, or left out beside an ``interrupt``, as 1.0's."""
        said, asked = members.get("outcome"), members.get("interrupt")
        if said is None and asked is not None:
            said = "interrupt"
        if not isinstance(said, str) or said not in OUTCOMES:
            return members
        self._tell("outcome")
        outcome: dict[str, Any] = {"type": str.__str__(said)}
        if said == "interrupt":
            several = members.get("interrupts")
            asked = several if isinstance(several, list | tuple) and several else [asked or {}]
            outcome["interrupts"] = [
                _interrupt(members_of(entry), f"{run_id}-{number}")
                for number, entry in enumerate(asked, 1)
            ]
        return {**members, "outcome": outcome}

    def _tell(self, form: str) -> None:
        if form not in self._seen:
            self._seen.add(form)
            self._told()


def _interrupt(members: Members, minted: str) -> dict[Any, Any]:
    """An interrupt of the draft; its ``payload`` has no place in 1.0 but the metadata."""
    kept = {key: value for key, value in members.items() if key in _INTERRUPT}
    if members.get("payload") is not None:
        metadata = kept.get("metadata")
        kept["metadata"] = {**(members_of(metadata) if metadata else {})}
        kept["metadata"].setdefault("payload", members["payload"])
    kept["id"] = kept.get("id") or minted
    kept["reason"] = kept.get("reason") or DEFAULT_REASON
    return kept


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
    """``parts`` without those ``translated`` from 0.x that stand beside their own 1.0 form.

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
