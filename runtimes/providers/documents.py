"""``documents``: the pieces of the team's documents that answer the question best."""

from pydantic import Field

from runtimes.knowledge import documents
from runtimes.providers.base import Asked, ContextEntry, Options, Provider


class DocumentsOptions(Options):
    """``most`` pieces are given."""

    most: int = Field(default=5, ge=1, le=50)


class DocumentsProvider(Provider):
    """An entry for each piece, the best first; described by the document's title and heading."""

    Options = DocumentsOptions

    def read(self, asked: Asked) -> list[ContextEntry]:
        """None without a question, or when no piece has any of its words."""
        found = documents.search(asked.team, asked.question, self.options.most)
        return [
            {
                "description": " › ".join(filter(None, (chunk.document.title, chunk.heading))),
                "value": chunk.text,
            }
            for chunk in found
        ]
