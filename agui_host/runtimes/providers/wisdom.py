"""``wisdom``: the notes that the team shares with its agents."""

from agui_host.runtimes.knowledge.models import Wisdom
from agui_host.runtimes.providers.base import ContextEntry, Provider, Query


class WisdomProvider(Provider):
    """All notes in one entry, the newest first."""

    of_team = True

    def read(self, query: Query) -> list[ContextEntry]:
        """All notes of the team as one entry, the newest first."""
        notes = Wisdom.objects.for_team(query.team).order_by("-id").values_list("text", flat=True)
        text = "\n\n".join(notes)
        return [{"description": "What the team has learned", "value": text}] if text else []
