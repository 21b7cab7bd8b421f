"""Which questions the inbox shows: its tabs and the filter by agent."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import QueryDict

from agui_host.teams.authentication import Principal
from agui_host.teams.tenancy import TeamQuerySet
from runs.access import access, inbox
from runs.access.notices import turns
from runs.models import Interrupt, InterruptStatus

TABS = {
    "": "Open",
    "mine": "My threads",
    "claimed": "Claimed",
    "snoozed": "Snoozed",
    "answered": "Answered",
    "by-me": "Answered by me",
}
HISTORY = ("answered", "by-me")
LONGEST = 64


@dataclass(frozen=True, slots=True)
class Tab:
    """A tab of the inbox: its words, where it leads, and whether the page shows it."""

    name: str
    query: str
    is_open: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """The tab and the agent's slug of a page; empty for the open questions of all agents."""

    tab: str = ""
    agent: str = ""

    @classmethod
    def of(cls, query: QueryDict) -> "Choice":
        """The choice of an address; what it names wrongly counts as not named."""
        tab = query.get("show", "")
        return cls(tab if tab in TABS else "", query.get("agent", "").replace("\x00", "")[:LONGEST])

    @property
    def query(self) -> str:
        """The choice as the query of an address."""
        return self._with(self.tab)

    @property
    def is_history(self) -> bool:
        """Whether the questions were answered."""
        return self.tab in HISTORY

    @property
    def tabs(self) -> list[Tab]:
        """All tabs, for the same agent."""
        return [Tab(words, self._with(name), name == self.tab) for name, words in TABS.items()]

    def rows(self, principal: Principal) -> TeamQuerySet[Interrupt]:
        """The questions that the page shows."""
        rows = self._of_tab(principal)
        return rows.filter(run__agent__slug=self.agent) if self.agent else rows

    def _of_tab(self, principal: Principal) -> TeamQuerySet[Interrupt]:
        if self.is_history:
            ended = (InterruptStatus.ANSWERED, InterruptStatus.CANCELLED)
            rows = access.visible_interrupts(principal).filter(status__in=ended)
            return rows.filter(answered_by=principal.label) if self.tab == "by-me" else rows
        rows = inbox.waiting(principal)
        if self.tab == "snoozed":
            return turns.snoozed(principal, rows)
        rows = turns.snoozed(principal, rows, False)
        if self.tab == "mine":
            return rows.filter(thread__creator=principal.actor_id)
        return turns.claims(rows) if self.tab == "claimed" else rows

    def _with(self, tab: str) -> str:
        return urlencode({k: v for k, v in (("show", tab), ("agent", self.agent)) if v})
