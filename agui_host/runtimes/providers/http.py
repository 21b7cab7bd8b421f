"""``http``: entries from a retriever of the team, such as a search in its own documents."""

from typing import Any

import httpx
from pydantic import Field

from agui_host.runtimes.providers import remote
from agui_host.runtimes.providers.base import ContextEntry, Query
from agui_host.runtimes.providers.remote import RemoteOptions, RemoteProvider, UnusableAnswer

LONGEST_QUESTION = 20_000


class HttpOptions(RemoteOptions):
    """``most``: how many entries the agent gets; ``parameters`` are sent unchanged."""

    most: int = Field(default=5, ge=1, le=remote.MOST)
    parameters: dict[str, Any] = {}


class HttpProvider(RemoteProvider):
    """POST ``{question, most, user?, parameters}`` → ``{entries: [{description, value}]}``."""

    Options = HttpOptions

    async def ask(self, client: httpx.AsyncClient, query: Query) -> list[ContextEntry]:
        """The entries of the server, in its order; at most ``most``."""
        options = self.options
        question = {
            "question": query.question[:LONGEST_QUESTION],
            "most": options.most,
            "parameters": options.parameters,
        }
        if query.person is not None:
            question["user"] = query.person.id
        _, text = await remote.post(client, str(options.url), question, {})
        answer = await remote.read(query.team.pk, text, remote.parsed)
        entries = answer.get("entries") if isinstance(answer, dict) else None
        if not isinstance(entries, list):
            raise UnusableAnswer("the answer has no entries")
        rows = [row if isinstance(row, dict) else {} for row in entries[: options.most]]
        return [remote.entry(row.get("description"), row.get("value")) for row in rows]
