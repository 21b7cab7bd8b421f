"""Operators' view of teams, members and keys."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.forms import ModelForm
from django.http import HttpRequest
from rest_framework_api_key.admin import APIKeyModelAdmin as _  # noqa: F401  (registers, see below)
from rest_framework_api_key.models import APIKey

from teams import keys
from teams.models import ApiKey, Membership, Team

if TYPE_CHECKING:
    TeamAdminBase = admin.ModelAdmin[Team]
    MembershipAdminBase = admin.ModelAdmin[Membership]
    MembershipInlineBase = admin.TabularInline[Membership, Team]
    ApiKeyAdminBase = admin.ModelAdmin[ApiKey]
else:
    TeamAdminBase = MembershipAdminBase = ApiKeyAdminBase = admin.ModelAdmin
    MembershipInlineBase = admin.TabularInline

ASKED = ["team", "name", "role", "expiry_date"]
FIXED = ["prefix", "created_by", "created", "last_used_at"]

# The library registers its own kind of key, which belongs to no team and opens nothing here.
admin.site.unregister(APIKey)


class MembershipInline(MembershipInlineBase):
    """The members on the team's page."""

    model = Membership
    extra = 0
    autocomplete_fields = ["user"]
    readonly_fields = ["created_at"]


@admin.register(Team)
class TeamAdmin(TeamAdminBase):
    """Teams; one that is archived lets nobody in."""

    list_display = ["name", "slug", "members", "created_at", "archived_at"]
    list_filter = [("archived_at", admin.EmptyFieldListFilter)]
    search_fields = ["name", "slug"]
    ordering = ["slug"]
    readonly_fields = ["created_at"]
    inlines = [MembershipInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Team]:
        """Teams with the number of their members."""
        mine = Membership.objects.filter(team=OuterRef("pk")).order_by().values("team")
        counted = Subquery(mine.annotate(n=Count("pk")).values("n"))
        return super().get_queryset(request).annotate(member_count=Coalesce(counted, 0))

    @admin.display(ordering="member_count")
    def members(self, team: Team) -> int:
        """How many people are in it."""
        return int(getattr(team, "member_count", 0))


@admin.register(Membership)
class MembershipAdmin(MembershipAdminBase):
    """Who is in which team, as what."""

    list_display = ["user", "team", "role", "created_at"]
    list_filter = ["role"]
    list_select_related = ["user", "team"]
    search_fields = ["user__username", "user__email", "team__name", "team__slug"]
    autocomplete_fields = ["user", "team"]
    readonly_fields = ["created_at"]


@admin.register(ApiKey)
class ApiKeyAdmin(ApiKeyAdminBase):
    """Keys: the new one is shown once, as a message; nothing ever shows a hash."""

    list_display = ["prefix", "name", "team", "role", "usable", "expiry_date", "last_used_at"]
    list_filter = ["role", "revoked"]
    list_select_related = ["team"]
    search_fields = ["prefix", "name", "team__name", "team__slug"]
    autocomplete_fields = ["team"]

    @admin.display(boolean=True)
    def usable(self, row: ApiKey) -> bool:
        """Neither revoked nor expired."""
        return keys.usable(row)

    def get_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> list[Any]:
        """What a new key needs, or all that may be known of an existing one."""
        return ASKED if obj is None else [*ASKED, "revoked", *FIXED]

    def get_readonly_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> list[Any]:
        """A key never changes its team, and a revoked one nothing at all."""
        if obj is None:
            return []
        return self.get_fields(request, obj) if obj.revoked else ["team", *FIXED]

    def save_model(
        self, request: HttpRequest, obj: ApiKey, form: "ModelForm[ApiKey]", change: bool
    ) -> None:
        """Make the key's text on adding, and show it this once."""
        if not change:
            key = ApiKey.objects.assign_key(obj)
            obj.created_by = request.user  # type: ignore[assignment]  # the admin needs a login
        super().save_model(request, obj, form, change)
        if not change:
            self.message_user(
                request,
                f'The key "{obj.name}" is {key} - copy it now, it is not shown again.',
                messages.WARNING,
            )
