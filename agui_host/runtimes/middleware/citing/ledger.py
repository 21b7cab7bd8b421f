"""The state that ``citations`` keeps, and the JSON Patch operations for each change.

``{citations, verifications, messages: {id: {messageId, citations, verifications, summary, status,
error?}}}`` under one key. Patches touch nothing else in the state.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from agui_host.protocol.deep_copy import deep_copy
from agui_host.protocol.pointer import pointer
from agui_host.runtimes.middleware.citing.extract import Citation

Wire = dict[str, Any]

UNSAFE = frozenset({"", "__proto__", "constructor", "prototype"})
LONGEST_KEY = 200
COUNTED = ("verified", "partial", "missed", "pending")
ENDED = frozenset({"complete", "error"})


def is_safe(key: Any) -> bool:
    """Whether a state may have this key: not one of JavaScript's prototype names."""
    return isinstance(key, str) and key not in UNSAFE and len(key) <= LONGEST_KEY


class Ledger:
    """What readers have under ``key``. Methods change it and return the operations to send.

    Before ``start`` the operations have no target; ``start`` adds the whole ``tree``. ``present``:
    that has happened; ``rooted``: the state around it is an object.
    """

    def __init__(self, key: str, state: Any, keep: int) -> None:
        """``state`` is the run's; the valid messages in it are taken over."""
        self.key = key
        self.rooted = isinstance(state, dict)
        self.present = False
        self._keep = keep
        self.tree: Wire = {"citations": {}, "verifications": {}, "messages": {}}
        before = state.get(key) if isinstance(state, dict) else None
        before = before if isinstance(before, dict) else {}
        messages = _sound(before.get("messages"))
        for message_id in list(messages)[-keep:]:
            self._take_over(message_id, messages[message_id])
        self.carried = bool(self.tree["messages"])
        self.reviews = before.get("reviews")

    @property
    def messages(self) -> dict[str, Wire]:
        """The messages by id."""
        by_id: dict[str, Wire] = self.tree["messages"]
        return by_id

    def _take_over(self, message_id: str, message: Wire) -> None:
        citations = _sound(message.get("citations"))
        checked = {k: v for k, v in _sound(message.get("verifications")).items() if k in citations}
        status = message.get("status")
        entry = _message(message_id, status if status in ENDED else "error")
        entry["citations"], entry["verifications"] = citations, checked
        entry["summary"] = _summary(entry)
        self.messages[message_id] = entry
        self.tree["citations"] |= citations
        self.tree["verifications"] |= checked

    # --- what happens to a message

    def start(self, message_id: str) -> list[Wire]:
        """A message begins; the oldest ones make room."""
        operations = []
        self.messages.pop(message_id, None)
        while len(self.messages) >= self._keep:
            operations += self._forget(next(iter(self.messages)))
        entry = self.messages[message_id] = _message(message_id, "streaming")
        if not self.present:
            return self.whole()
        return [*operations, self._add(entry, "messages", message_id)]

    def whole(self) -> list[Wire]:
        """The patch that adds the whole tree to a state that has none."""
        self.present = True
        return [self._add(self.tree)]

    def _forget(self, message_id: str) -> list[Wire]:
        del self.messages[message_id]
        operations = [self._remove("messages", message_id)]
        for part in ("citations", "verifications"):
            used = {key for message in self.messages.values() for key in message[part]}
            for key in [key for key in self.tree[part] if key not in used]:
                del self.tree[part][key]
                operations.append(self._remove(part, key))
        return operations

    def cite(self, message_id: str, citations: Iterable[Citation]) -> list[Wire]:
        """Add citations that the message did not have."""
        message = self.messages[message_id]
        operations = []
        for citation in citations:
            wire = message["citations"][citation.key] = citation.wire()
            operations.append(self._add(wire, "messages", message_id, "citations", citation.key))
            if citation.key not in self.tree["citations"]:
                self.tree["citations"][citation.key] = wire
                operations.append(self._add(wire, "citations", citation.key))
        return [*operations, *self._summarise(message_id)] if operations else []

    def verified(self, message_id: str, key: str, verification: Wire) -> list[Wire]:
        """Store the result for one citation."""
        message = self.messages[message_id]
        message["verifications"][key] = self.tree["verifications"][key] = verification
        return [
            self._add(verification, "messages", message_id, "verifications", key),
            self._add(verification, "verifications", key),
            *self._summarise(message_id),
        ]

    def status(self, message_id: str, status: str, error: str | None = None) -> list[Wire]:
        """Set the status of the message."""
        message = self.messages[message_id]
        message["status"] = status
        operations = [self._replace(status, "messages", message_id, "status")]
        if error is not None:
            message["error"] = error
            operations.append(self._add(error, "messages", message_id, "error"))
        return operations

    def _summarise(self, message_id: str) -> list[Wire]:
        message = self.messages[message_id]
        message["summary"] = summary = _summary(message)
        return [self._replace(summary, "messages", message_id, "summary")]

    # --- the agent's events about the state

    def merged(self, snapshot: Any) -> Any:
        """A snapshot of the agent with this in it; any other than an object stays as it is."""
        self.rooted = isinstance(snapshot, dict)
        if not self.rooted or not (self.present or self.carried):
            return snapshot
        self.present = True
        return {**snapshot, self.key: deep_copy(self.tree)}

    def allowed(self, operation: Wire) -> Wire | None:
        """An operation of the agent; None if it would write here."""
        path, own = operation["path"], pointer((self.key,))
        if operation["op"] == "test":
            return operation
        if path == "":
            merged = self.merged(operation.get("value"))
            return {**operation, "value": merged} if "value" in operation else operation
        touched = [path, operation["from"]] if operation["op"] == "move" else [path]
        if any(where == own or where.startswith(f"{own}/") for where in touched):
            return None
        return operation

    # --- operations

    def _add(self, value: Any, *path: str) -> Wire:
        place = pointer((self.key, *path))
        return {"op": "add", "path": place, "value": deep_copy(value)}

    def _replace(self, value: Any, *path: str) -> Wire:
        return {"op": "replace", "path": pointer((self.key, *path)), "value": value}

    def _remove(self, *path: str) -> Wire:
        return {"op": "remove", "path": pointer((self.key, *path))}


def _message(message_id: str, status: str) -> Wire:
    entry: Wire = {"messageId": message_id, "citations": {}, "verifications": {}}
    return {**entry, "summary": _summary(entry), "status": status}


def _summary(message: Mapping[str, Any]) -> dict[str, int]:
    statuses = [message["verifications"].get(key, {}).get("status") for key in message["citations"]]
    counts = {name: statuses.count(name) for name in COUNTED[:3]}
    return {"total": len(statuses), **counts, "pending": len(statuses) - sum(counts.values())}


def _sound(value: Any) -> dict[str, Wire]:
    if not isinstance(value, dict):
        return {}
    return {k: deep_copy(v) for k, v in value.items() if is_safe(k) and isinstance(v, dict)}
