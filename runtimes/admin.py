"""Agents in Django's admin, for operators."""

from django.contrib import admin

from runtimes.models import Agent
from teams.admin import Audited


@admin.register(Agent)
class AgentAdmin(Audited[Agent]):
    """What a team runs, and by which rules."""

    list_display = ["slug", "team", "name", "kind", "on_busy", "policy", "is_default", "enabled"]
    list_filter = ["kind", "enabled", "on_busy", "policy"]
    list_select_related = ["team"]
    search_fields = ["slug", "name", "team__slug"]
    raw_id_fields = ["team"]
    readonly_fields = ["id", "created_at"]
