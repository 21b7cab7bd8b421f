"""Answers with quotes, and the state that a reader of their events holds."""

import asyncio
import json
from typing import Any

import jsonpatch

from agui_host.runtimes.middleware.chain import Chain
from agui_host.runtimes.middleware.citing.extract import Citation, citations_in
from tests.runtimes.middleware.passing import Wire, chain_of

CITE = {"name": "citations", "lifecycle": False}
CONTEXT = [{"description": "Lease", "value": "The term is twelve months. No animals are allowed."}]
GOOD, BAD = 'It says "The term is twelve months" [1].', ' And "the rent is waived for ever" [1].'
FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
FAILED = {"type": "RUN_ERROR", "message": "no"}


def chain(entry: Wire = CITE, **body: Any) -> Chain:
    return chain_of(entry, **{"context": CONTEXT, "state": {}, **body})


def folded(events: list[Wire], state: Any = None) -> Any:
    """The state of a reader who follows; every patch has to apply."""
    state = {} if state is None else state
    for event in events:
        if event["type"] == "STATE_SNAPSHOT":
            state = event["snapshot"]
        elif event["type"] == "STATE_DELTA":
            state = jsonpatch.apply_patch(state, event["delta"])
    return json.loads(json.dumps(state))


def message_of(events: list[Wire], name: str = "m") -> Wire:
    message: Wire = folded(events)["deepcitation"]["messages"][name]
    return message


def key_of(quoting: str) -> str:
    return next(citations_in(quoting))[0].key


class Held:
    """A verifier that answers when it is told to."""

    def __init__(self) -> None:
        self.quotes: list[str] = []
        self.gate = asyncio.Event()
        self.began = asyncio.Event()
        self.closed = self.cancelled = False

    async def verify(self, citation: Citation) -> Wire:
        self.quotes.append(citation.quote)
        self.began.set()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return {"status": "verified"}

    async def aclose(self) -> None:
        self.closed = True
