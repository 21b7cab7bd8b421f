"""The text of a question whose framework put it beside ``message``."""

from collections.abc import Mapping
from typing import Any

from protocol.encoding import clean_text

ASKING = ("message", "question", "prompt", "text", "description", "query", "title")
"""Keys under which LangGraph's users write what ``interrupt({...})`` asks; the first one wins."""
LONGEST, MOST = 2_000, 20


def with_messages(outcome: Mapping[str, Any]) -> dict[str, Any]:
    """An interrupt outcome whose questions say in ``message`` what they ask.

    ag-ui-langgraph fills ``message`` only from a plain string; what else was given to
    ``interrupt()`` is at ``metadata.langgraph.raw``.
    """
    interrupts = [_asked(each) for each in outcome.get("interrupts", [])]
    return {**outcome, "interrupts": interrupts}


def _asked(interrupt: dict[str, Any]) -> dict[str, Any]:
    langgraph = interrupt.get("metadata", {}).get("langgraph")
    if interrupt.get("message") or not isinstance(langgraph, dict):
        return interrupt
    text = _text(langgraph.get("raw"))
    return interrupt | {"message": clean_text(text[:LONGEST])} if text else interrupt


def _text(raw: Any) -> str:
    """The question in the value of ``interrupt()``; empty where nothing says what it is.

    LangChain's human-in-the-loop middleware sends a list of requests: all of them are asked.
    """
    requests = raw.get("action_requests") if isinstance(raw, dict) else raw
    several = requests if isinstance(requests, list) else [raw]
    return "\n\n".join(filter(None, map(_first, several[:MOST])))


def _first(asked: Any) -> str:
    if isinstance(asked, dict):
        texts = (asked[key] for key in ASKING if isinstance(asked.get(key), str))
        return next(filter(None, texts), "")
    return asked if isinstance(asked, str) else ""
