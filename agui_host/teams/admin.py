"""Operators' view of teams, members and keys."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.db.models import Count, Field, Model, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from rest_framework_api_key.admin import APIKeyModelAdmin as _  # noqa: F401  (registers, see below)
from rest_framework_api_key.models import APIKey

from agui_host.teams import audit, keys, notices
from agui_host.teams.access import members
from agui_host.teams.models import ApiKey, Membership, Scope, Team, TeamLimits
from agui_host.teams.revocation import revoked

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin
    MembershipInlineBase = admin.TabularInline[Membership, Team]
    LimitsInlineBase = admin.StackedInline[TeamLimits, Team]
    UserAdminBase = UserAdmin[User]
else:

    class ModelAdmin(admin.ModelAdmin):
        """ModelAdmin with the type parameter that the stubs give it."""

        def __class_getitem__(cls, _: Any) -> type:
            return cls

    MembershipInlineBase = admin.TabularInline
    LimitsInlineBase = admin.StackedInline
    UserAdminBase = UserAdmin

M = TypeVar("M", bound=Model)

ASKED = ["team", "name", "role", "scopes", "expiry_date"]
FIXED = [
    "prefix", "agents", "created_by", "created", "replaces", "last_used_at", "last_used_from",
]  # fmt: skip

# The library registers its own kind of key, which belongs to no team and opens nothing here.
admin.site.unregister(APIKey)
admin.site.unregister(User)


class Watched(ModelAdmin[M]):
    """Records what operators view in the log of the team that it belongs to."""

    def render_change_form(
        self,
        request: HttpRequest,
        context: Any,
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Any = None,
    ) -> Any:
        """Called for the page of one object, also when its form is refused."""
        if obj is not None and request.method == "GET":
            for team in self._teams(obj):
                target = f"{self.opts.model_name}:{obj.pk}"
                audit.record(audit.of_user(_operator(request)), team, "admin.read", target)
        return super().render_change_form(request, context, add, change, form_url, obj)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """Add one line for each team from which the list shows rows."""
        answer = super().changelist_view(request, extra_context)
        page = getattr(answer, "context_data", None) or {}
        rows_by_team = Counter(team for obj in _rows(page) for team in self._teams(obj))
        for team, rows in rows_by_team.items():
            who, name = audit.of_user(_operator(request)), str(self.opts.model_name)
            audit.record(who, team, "admin.listed", name, rows=rows)
        return answer

    def _teams(self, obj: Any) -> list[Team]:
        return [obj if isinstance(obj, Team) else obj.team]


def _rows(page: Mapping[str, Any]) -> list[Any]:
    return list(page["cl"].result_list) if "cl" in page else []


class Audited(Watched[M]):
    """Records what operators change in the log of the team it belongs to."""

    def log_addition(self, request: HttpRequest, obj: M, message: Any) -> Any:
        """Called in the transaction of the change, like the other two."""
        self._record(request, obj, "admin.added")
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: M, message: Any) -> Any:
        """Record the names of the fields, and no values."""
        self._record(request, obj, "admin.changed", fields=_fields(message))
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        """Called before the deletion."""
        for obj in queryset:
            self._record(request, obj, "admin.deleted")
        return super().log_deletions(request, queryset)

    def _record(self, request: HttpRequest, obj: Model, action: str, **details: Any) -> None:
        for team in self._teams(obj):
            target = f"{self.opts.model_name}:{obj.pk}"
            audit.record(audit.of_user(_operator(request)), team, action, target, **details)
            revoked(team.pk)  # The row may have given anybody the right to read.

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[M]) -> None:
        """Delete the selected rows, then make open streams re-check access."""
        teams = {team.pk for obj in queryset for team in self._teams(obj)}
        super().delete_queryset(request, queryset)
        for team_id in teams:
            revoked(team_id)


class OfPerson(Audited[M]):
    """Something that belongs to a person concerns all their teams."""

    def _teams(self, obj: Any) -> list[Team]:
        return [row.team for row in _memberships(obj.user)]


def _operator(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # noqa: S101  (the admin needs a login)
    return request.user


def _fields(message: Any) -> list[str]:
    parts = message if isinstance(message, list) else []
    return [name for part in parts for name in part.get("changed", {}).get("fields", [])]


class MembershipInline(MembershipInlineBase):
    """The members on the team's page."""

    model = Membership
    extra = 0
    autocomplete_fields = ["user"]
    readonly_fields = ["created_at"]


class LimitsInline(LimitsInlineBase):
    """The team's own limits: empty is the setting's value, 0 is no limit."""

    model = TeamLimits


@admin.register(Team)
class TeamAdmin(Audited[Team]):
    """Teams; an archived one cannot be entered."""

    list_display = ["name", "slug", "members", "created_at", "archived_at"]
    list_filter = [("archived_at", admin.EmptyFieldListFilter)]
    search_fields = ["name", "slug"]
    ordering = ["slug"]
    readonly_fields = ["created_at"]
    exclude = ["time_zone"]  # The team's own page has it.
    inlines = [MembershipInline, LimitsInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Team]:
        """Teams with the number of their members."""
        mine = Membership.objects.filter(team=OuterRef("pk")).order_by().values("team")
        counted = Subquery(mine.annotate(n=Count("pk")).values("n"))
        return super().get_queryset(request).annotate(member_count=Coalesce(counted, 0))

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        """Revoke everything by which the removed member could get back into the team."""
        super().save_formset(request, form, formset, change)
        for row in formset.deleted_objects:
            if isinstance(row, Membership):
                members.left(row.team, row.user, audit.of_user(_operator(request)))

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never here: erasing a team is more than deleting a row (manage.py delete_team)."""
        return False

    @admin.display(ordering="member_count")
    def members(self, team: Team) -> int:
        """How many people are in the team."""
        return int(getattr(team, "member_count", 0))


@admin.register(Membership)
class MembershipAdmin(Audited[Membership]):
    """Memberships: which user has which role in which team."""

    list_display = ["user", "team", "role", "created_at"]
    list_filter = ["role"]
    list_select_related = ["user", "team"]
    search_fields = ["user__username", "user__email", "team__name", "team__slug"]
    autocomplete_fields = ["user", "team"]
    readonly_fields = ["created_at"]

    def delete_model(self, request: HttpRequest, obj: Membership) -> None:
        """Revoke everything by which the removed member could get back in."""
        super().delete_model(request, obj)
        members.left(obj.team, obj.user, audit.of_user(_operator(request)))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Membership]) -> None:
        """``delete_model`` for all selected rows."""
        rows = list(queryset.select_related("team", "user"))
        super().delete_queryset(request, queryset)
        for row in rows:
            members.left(row.team, row.user, audit.of_user(_operator(request)))


@admin.register(ApiKey)
class ApiKeyAdmin(Audited[ApiKey]):
    """Keys: a new one is shown once, as a message; nothing ever shows a hash."""

    list_display = ["prefix", "name", "team", "role", "usable", "expiry_date", "last_used_at"]
    list_filter = ["role", "revoked"]
    list_select_related = ["team"]
    search_fields = ["prefix", "name", "team__name", "team__slug"]
    autocomplete_fields = ["team"]

    def formfield_for_dbfield(
        self, db_field: "Field[Any, Any]", request: HttpRequest, **kwargs: Any
    ) -> forms.Field | None:
        """Show scopes as check boxes."""
        if db_field.name == "scopes":
            boxes = forms.CheckboxSelectMultiple
            return forms.MultipleChoiceField(
                choices=Scope.choices, initial=list(Scope), widget=boxes
            )
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def delete_model(self, request: HttpRequest, obj: ApiKey) -> None:
        """Also revoke everything else by which its holder could get back in."""
        keys.revoke(obj, audit.of_user(_operator(request)))
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        """``delete_model`` for all selected rows."""
        for row in queryset:
            keys.revoke(row, audit.of_user(_operator(request)))
        super().delete_queryset(request, queryset)

    @admin.display(boolean=True)
    def usable(self, row: ApiKey) -> bool:
        """Whether the key still opens anything."""
        return keys.usable(row)

    def get_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> list[Any]:
        """The fields of a new key, or everything that can be known of an existing one."""
        return ASKED if obj is None else [*ASKED, "revoked", *FIXED]

    def get_readonly_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> list[Any]:
        """A key never changes its team, and a revoked one never changes at all."""
        if obj is None:
            return []
        return self.get_fields(request, obj) if obj.revoked else ["team", *FIXED]

    def save_model(
        self, request: HttpRequest, obj: ApiKey, form: "forms.ModelForm[ApiKey]", change: bool
    ) -> None:
        """Make the key's text on adding, and show it this once; keys made with it change with it.

        The operator answers for it, not a person of the team.
        """
        if not change:
            key = ApiKey.objects.assign_key(obj)
        super().save_model(request, obj, form, change)
        if not change:
            notices.key_made(obj, audit.of_user(_operator(request)).label)
        if change:
            keys.bound_minted(obj)
            if obj.revoked:
                keys.revoke(obj, audit.of_user(_operator(request)))
        else:
            self.message_user(
                request,
                f'The key "{obj.name}" is {key} - copy it now; it will not be shown again.',
                messages.WARNING,
            )


@admin.register(User)
class PersonAdmin(Audited[User], UserAdminBase):
    """Django's own; deactivating or deleting a user revokes all their access."""

    def _teams(self, obj: User) -> list[Team]:
        return [row.team for row in _memberships(obj)]

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Save, and make the open streams of each of the person's teams re-check access."""
        super().save_model(request, obj, form, change)
        for row in _memberships(obj):
            if obj.is_active:
                revoked(row.team_id)
            else:
                members.left(row.team, obj, audit.of_user(_operator(request)))

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        """Remove the person from all their teams first."""
        self._take_out(request, obj)
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """``delete_model`` for all selected rows."""
        for person in queryset:
            self._take_out(request, person)
        super().delete_queryset(request, queryset)

    def _take_out(self, request: HttpRequest, person: User) -> None:
        for row in _memberships(person):
            members.left(row.team, person, audit.of_user(_operator(request)))


def _memberships(person: User) -> list[Membership]:
    rows = Membership.objects.of_one_person().filter(user=person)
    return list(rows.select_related("team"))
