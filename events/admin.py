"""Operators' view of journals. Events appear in the inspector of a run: Django's admin cannot show
a composite primary key."""

from typing import TYPE_CHECKING, Any, TypeVar

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from events.models import Finding, Journal

M = TypeVar("M", bound=Model)

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin
else:

    class ModelAdmin(admin.ModelAdmin):
        """ModelAdmin with the type parameter that the stubs give it."""

        def __class_getitem__(cls, _: Any) -> type:
            return cls


class HistoryAdmin(ModelAdmin[M]):
    """Records of the past: they can be read, but not added, changed or deleted."""

    list_per_page = 50
    # Counting a large table takes longer than everything else on the page.
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        """No one: the log is written by the writer alone."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """No one: a stored event never changes."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """No one: events leave with their run, by retention or erasure."""
        return False


@admin.register(Journal)
class JournalAdmin(HistoryAdmin[Journal]):
    """The logs: the length of each, and how often its writer changed."""

    list_display = ["id", "head", "writer", "closed_at"]
    list_select_related = ["run__team"]
    list_filter = [("closed_at", admin.EmptyFieldListFilter)]
    search_fields = ["=id"]
    ordering = ["-id"]
    fields = ["id", "head", "writer", "closed_at"]


@admin.register(Finding)
class FindingAdmin(HistoryAdmin[Finding]):
    """Faults in agents' events, and how intake handled each."""

    list_display = ["journal_id", "seq", "rule", "action", "times", "at"]
    list_select_related = ["journal__run__team"]
    list_filter = ["rule", "action"]
    search_fields = ["=journal__id"]
    ordering = ["-id"]
    fields = ["journal", "seq", "rule", "action", "times", "at"]
