"""``documents``: the pieces of the team's documents that answer the question best."""

from pydantic import Field

from agui_host.runtimes.knowledge import documents
from agui_host.runtimes.providers.base import ContextEntry, Options, Provider, Query


class DocumentsOptions(Options):
    """``most``: how many pieces the agent gets."""

    most: int = Field(default=5, ge=1, le=50)


class DocumentsProvider(Provider):
    """An entry for each piece, the best first; described by the document's title and heading."""

    Options = DocumentsOptions
    of_team = True

    def read(self, query: Query) -> list[ContextEntry]:
        """None without a question, or if no piece contains any of its words."""
        chunks = documents.search(query.team, query.question, self.options.most)
        return [
            {
                "description": " › ".join(filter(None, (chunk.document.title, chunk.heading))),
                "value": chunk.text,
            }
            for chunk in chunks
        ]
