"""Translates events of AG-UI 0.x, which some agents still send, to AG-UI 1.0.

THINKING_* and ``binary`` parts follow the compatibility layer of ``@ag-ui/client`` 1.0.0. That
client does not know the draft of interrupts that agents implemented before 1.0 settled it:
RUN_FINISHED with ``outcome: "interrupt"`` beside ``interrupt: {id?, reason?, payload?}``.

Encoders of 0.x leave out nulls, also where it is required. Documents of that time have
further forms, which ``completed`` translates under the policy ``repair``.
"""

from collections.abc import Callable, Collection, Mapping
from itertools import product
from typing import Any
from uuid import uuid4

from agui_host.protocol.pointer import pointer
from agui_host.protocol.values import members_of

Members = Mapping[Any, Any]

THINKING = frozenset(
    {
        "THINKING_START", "THINKING_END", "THINKING_TEXT_MESSAGE_START",
        "THINKING_TEXT_MESSAGE_CONTENT", "THINKING_TEXT_MESSAGE_END", "THINKING_CONTENT",
    }
)  # fmt: skip
MEDIA = frozenset({"image", "audio", "video"})
OUTCOMES = frozenset({"success", "interrupt", "cancelled"})
DEFAULT_REASON = "input_required"
_INTERRUPT = {
    "id", "reason", "message", "metadata", "subagentRunId", "subagent_run_id",
    "toolCallId", "tool_call_id", "responseSchema", "response_schema", "expiresAt", "expires_at",
}  # fmt: skip
_ANY = object()
"""Matches each media type and each file name."""
_NULLABLE = {"CUSTOM": "value", "RAW": "event", "STATE_SNAPSHOT": "snapshot"}


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

        These events carry no id. An event that continues something never opened gets an id as well,
        and the rules of order deal with it.
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
            case "THINKING_CONTENT":
                # The Dart SDK's: the text of a span, which nothing else opens or ends.
                named = self._span or self._message or str(uuid4())
                if not self._span:
                    self._message = named
            case _:
                return None
        self._tell("thinking")
        if kind == "THINKING_CONTENT":
            return {**members, "type": "REASONING_MESSAGE_CHUNK", "messageId": named}
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

    def completed(self, kind: str, members: Members, run_id: str) -> Members:
        """An event with what 1.0 requires and 0.x leaves out; itself if it has that.

        A run's activities of one type that have no id are one activity.
        """
        modern: Members = members
        if (field := _NULLABLE.get(kind)) is not None and field not in members:
            modern = {**members, field: members.get("state") if field == "snapshot" else None}
        elif kind == "STATE_DELTA" and isinstance(members.get("delta"), Mapping):
            modern = {**members, "delta": _operations(members["delta"])}
        elif kind in ("ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA") and not _has_id(members):
            named = members.get("activityType", members.get("activity_type"))
            if isinstance(named, str):
                modern = {**members, "messageId": f"{str.__str__(named)}~{run_id}"}
        if modern is not members:
            self._tell(kind)
        return modern

    def _tell(self, form: str) -> None:
        if form not in self._seen:
            self._seen.add(form)
            self._translated()


def _has_id(members: Members) -> bool:
    return any(members.get(key) is not None for key in ("messageId", "message_id"))


def _operations(delta: Members) -> list[Any]:
    """The patch that an object means: one operation, or new values of the state's members."""
    if isinstance(delta.get("op"), str) and isinstance(delta.get("path"), str):
        return [delta]
    return [
        {"op": "add", "path": pointer([str(key)]), "value": value} for key, value in delta.items()
    ]


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
    """``parts`` without translated parts of 0.x that duplicate a part of 1.0 next to them.

    Producers that serve old and new clients send an attachment twice.
    """
    ours = {id(part) for part in translated}
    modern: set[tuple[Any, ...]] = set()
    for part in parts:
        if id(part) not in ours:
            kind, value, mime, filename = _attachment(part)
            modern.update(product((kind,), (value,), {mime, _ANY}, {filename, _ANY}))
    return [part for part in parts if id(part) not in ours or not _is_mirror(part, modern)]


def _is_mirror(part: dict[str, Any], modern: Collection[tuple[Any, ...]]) -> bool:
    """Whether a part of 1.0 has the same content, and no other media type or file name."""
    kind, value, mime, filename = _attachment(part)
    name = _ANY if filename is None else filename
    mimes = (_ANY,) if mime is None else (mime, None)
    return any((kind, value, each, name) in modern for each in mimes)


def _attachment(part: Mapping[str, Any]) -> tuple[Any, ...]:
    """The type of a part, its content, media type and file name.

    A ``data:`` URL is its data, and can bring the media type.
    """
    source = part.get("source") or {}
    value, mime = source.get("value"), source.get("mimeType")
    if isinstance(value, str) and value.startswith("data:"):
        head, _, value = value.partition(";base64,")
        mime = head.removeprefix("data:") or mime
    return part["type"], value, mime, _filename(part)


def _filename(part: Mapping[str, Any]) -> str | None:
    metadata = part.get("metadata")
    name = metadata.get("filename") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else None
