"""Operators' view of threads and runs: read-only, since their history must not change."""

from typing import Any

from django.contrib import admin

from agui_host.teams.admin import Watched
from agui_host.teams.models import Team
from events.admin import HistoryAdmin
from events.models import Finding, Journal
from runs.models import Run, Thread

LONGEST = 4000


class OfRun(Watched[Any]):
    """A journal belongs to its run, and a run to its team."""

    def _teams(self, obj: Journal | Finding) -> list[Team]:
        journal = obj if isinstance(obj, Journal) else obj.journal
        run: Run | None = getattr(journal, "run", None)
        return [run.team] if run is not None else []


# Their own pages know no team.
for model in (Journal, Finding):
    page = type(admin.site.get_model_admin(model))
    admin.site.unregister(model)
    admin.site.register(model, type(page.__name__, (OfRun, page), {}))


@admin.register(Thread)
class ThreadAdmin(Watched[Thread], HistoryAdmin[Thread]):
    """Threads, read only; a look at one is a line in its team's audit log."""

    list_display = ["thread_id", "team", "created_at"]
    list_select_related = ["team"]
    search_fields = ["thread_id", "team__slug"]
    ordering = ["-id"]
    fields = ["id", "team", "thread_id", "legal_hold", "created_at"]


@admin.register(Run)
class RunAdmin(Watched[Run], HistoryAdmin[Run]):
    """Runs. Inputs and results can be megabytes, so the page shows only how they begin."""

    list_display = ["journal_id", "status", "agent", "team", "thread", "started_by", "created_at"]
    list_filter = ["status", "team"]
    list_select_related = ["agent", "team", "thread"]
    search_fields = ["=journal__id", "run_id", "thread__thread_id", "started_by"]
    ordering = ["-journal"]
    fields = [
        "journal_id", "team", "thread", "agent", "run_id", "repeats", "tries", "parent",
        "parent_run_id", "protocol_version",
        "status", "error_code", "error_message", "started_by", "idempotency_key", "worker",
        "created_at", "started_at", "ended_at", "cancel_requested_at", "purged_at",
        "input_begins", "result_begins", "usage",
    ]  # fmt: skip

    @admin.display(description="input")
    def input_begins(self, run: Run) -> str:
        """The stored RunAgentInput, cut."""
        return beginning(run.input)

    @admin.display(description="result")
    def result_begins(self, run: Run) -> str:
        """The agent's result, cut."""
        return beginning(run.result or "")


def beginning(text: str) -> str:
    """``text``, cut if it is too long for a page."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} … ({len(text)} characters)"
