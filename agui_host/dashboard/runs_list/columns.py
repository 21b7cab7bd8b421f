"""The columns of the runs list, which ``columns=`` in its address chooses."""

import json
from dataclasses import dataclass
from functools import cached_property

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Left
from django.http import QueryDict
from django.utils.html import format_html
from django.utils.safestring import SafeString

from events.models import Finding
from runs.models import Interrupt, Run

NAME = "columns"
USAGE_CHARACTERS = 20_000
"""A longer usage is not added up."""


@dataclass(frozen=True)
class Column:
    """``name`` is used in the address, and for its cells (``dashboard/rows.py``).

    ``counts`` is the member of a run with the number of a column that only shows that.
    """

    name: str
    label: str
    is_number: bool = False
    counts: str = ""

    @cached_property
    def opening(self) -> SafeString:
        """The beginning of a cell."""
        # The style of "title" is that of a page's head.
        name = "topic" if self.name == "title" else self.name
        classes = f"num {name}" if self.is_number else name
        return format_html('<td class="{}" data-label="{}">', classes, self.label.lower())


COLUMNS = {
    column.name: column
    for column in (
        Column("thread", "Thread"),
        Column("title", "Title"),
        Column("tags", "Tags"),
        Column("run", "Run id"),
        Column("by", "Started by"),
        Column("error", "Error"),
        Column("findings", "Findings", is_number=True),
        Column("events", "Events", is_number=True),
        Column("bytes", "Size", is_number=True),
        Column("tokens", "Tokens", is_number=True),
        Column("waited", "Waited", is_number=True),
        Column("first", "First piece", is_number=True),
        Column("tools", "Tool calls", is_number=True, counts="tool_calls"),
        Column("subagents", "Subagents", is_number=True, counts="subagents"),
        Column("tokens_in", "Tokens in", is_number=True, counts="tokens_in"),
        Column("tokens_out", "Tokens out", is_number=True, counts="tokens_out"),
        Column("cost", "Cost", is_number=True),
        Column("span", "Duration", is_number=True),
    )
}
SHOWN = (
    "status", "asked", "run_id", "started_by", "created_at", "started_at", "ended_at",
    "cancel_requested_at", "cost", "tool_calls", "subagents", "tokens_in", "tokens_out", "ttft_ms",
    "error_code", "agent__slug", "journal__head", "journal__bytes", "thread__team",
    "thread__visibility", "thread__creator", "thread__thread_id", "thread__title", "thread__tags",
)  # fmt: skip
"""What rows and cells show, and ``access`` asks. To make models of all columns takes twice as
long."""
USUAL = ("by", "events", "cost", "span")


def chosen(query: QueryDict) -> list[Column]:
    """The columns that an address names, in their own order; the usual ones if it names none."""
    names = set(_names(query)) or set(USUAL)
    return [column for column in COLUMNS.values() if column.name in names]


def parameter(query: QueryDict) -> str:
    """The value of ``columns=`` in links, ``thread,tokens``; empty for the usual columns."""
    columns = tuple(column.name for column in chosen(query))
    return "" if columns == USUAL else ",".join(columns)


def _names(query: QueryDict) -> list[str]:
    # The form sends one parameter for each box.
    names = ",".join(query.getlist(NAME)).split(",")
    return [name for name in names if name in COLUMNS]


def filled(runs: QuerySet[Run], columns: list[Column]) -> QuerySet[Run]:
    """The runs with what the list shows of them, also from other tables."""
    names = {column.name for column in columns}
    # Open comes last in the alphabet of the statuses, and first here.
    asking = Interrupt.objects.filter(run=OuterRef("pk")).order_by("-status")
    runs = runs.only(*SHOWN).annotate(question=Subquery(asking.values("status")[:1]))
    if "tokens" in names:
        runs = runs.annotate(usage_text=Left("usage", USAGE_CHARACTERS))
    if "findings" in names:
        own = Finding.objects.filter(journal=OuterRef("pk")).order_by().values("journal")
        counted = own.annotate(number=Count("pk")).values("number")
        runs = runs.annotate(findings_count=Subquery(counted))
    return runs


def tokens(run: Run) -> int | None:
    """How many tokens the run's agent reported, in and out; None if it did not."""
    try:
        entries = json.loads(getattr(run, "usage_text", None) or "[]")
        return sum(map(_total, entries)) or None
    except (ValueError, TypeError, AttributeError):
        return None


def _total(entry: dict[str, int]) -> int:
    # ``totalTokens`` is more exact where an agent counts other kinds.
    return entry.get("totalTokens") or entry.get("inputTokens", 0) + entry.get("outputTokens", 0)
