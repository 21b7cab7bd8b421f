"""Questions of frameworks: a text that is elsewhere than in ``message``, and ids that meet."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agui_host.protocol.encoding import clean_text
from agui_host.protocol.fold.inherited import ASKED_AS, marked

ASKING = ("message", "question", "prompt", "text", "description", "query", "title")
"""Keys under which LangGraph's users write what ``interrupt({...})`` asks; the first one wins."""
LONGEST, MOST = 2_000, 20


def with_messages(outcome: Mapping[str, Any]) -> dict[str, Any]:
    """An interrupt outcome in which the ``message`` of each question has its text.

    ag-ui-langgraph fills ``message`` only from a plain string; any other value given to
    ``interrupt()`` is at ``metadata.langgraph.raw``.
    """
    interrupts = [_asked(each) for each in outcome.get("interrupts", [])]
    return {**outcome, "interrupts": interrupts}


def told_apart(
    interrupts: Iterable[dict[str, Any]], run_id: str, find: Callable[[str], object]
) -> None:
    """Rename the questions of one outcome that have no id, or that of another; each is found."""
    used: set[str] = set()
    for number, interrupt in enumerate(interrupts, 1):
        name = interrupt["id"]
        if not name or name in used:
            find("renamed")
            marked(interrupt, {ASKED_AS: name})
            interrupt["id"] = f"{name or run_id}~{number}"
            while interrupt["id"] in used:
                interrupt["id"] += "~"
        used.add(interrupt["id"])


def _asked(interrupt: dict[str, Any]) -> dict[str, Any]:
    langgraph = interrupt.get("metadata", {}).get("langgraph")
    if interrupt.get("message") or not isinstance(langgraph, dict):
        return interrupt
    text = _text(langgraph.get("raw"))
    return interrupt | {"message": clean_text(text[:LONGEST])} if text else interrupt


def _text(raw: Any) -> str:
    """The question in the value of ``interrupt()``; empty if it cannot be recognised.

    LangChain's human-in-the-loop middleware sends a list of requests, which become one text.
    """
    requests = raw.get("action_requests") if isinstance(raw, dict) else raw
    several = requests if isinstance(requests, list) else [raw]
    return "\n\n".join(filter(None, map(_first, several[:MOST])))


def _first(value: Any) -> str:
    if isinstance(value, dict):
        texts = (value[key] for key in ASKING if isinstance(value.get(key), str))
        return next(filter(None, texts), "")
    return value if isinstance(value, str) else ""
