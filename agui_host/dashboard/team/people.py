"""The pages of a team's people: members, invitations, joining, and switching teams."""

from datetime import datetime
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods

from agui_host.backends.postgres import clock
from agui_host.dashboard.account.adapters import SESSION
from agui_host.dashboard.forms import InvitationForm, submitted
from agui_host.dashboard.overview.overview import text_of
from agui_host.dashboard.pages import Question, action, both, page, refused, uncached
from agui_host.errors import NotFound
from agui_host.protocol.errors import HostError, Invalid
from agui_host.teams.access import invitations, members
from agui_host.teams.authentication import Principal
from agui_host.teams.models import Invitation, Membership, Role
from agui_host.teams.permissions import in_words, reaches
from runs.access.usage import figures
from runs.access.usage.figures import DAY, Period


@page
def team(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The team's members and, for its managers, its open invitations."""
    return _team(request, principal, InvitationForm())


def _team(request: HttpRequest, principal: Principal, form: InvitationForm) -> HttpResponse:
    manages = principal.can("manage_members")
    ranks = list(Role)
    rows = sorted(
        members.visible(principal), key=lambda each: (ranks.index(Role(each.role)), each.pk)
    )
    month = figures.day_of(clock.now()).replace(day=1)
    costs = _costs(principal, month)
    context = {
        "members": [(row, costs.get(f"user:{row.user.get_username()}", 0.0)) for row in rows],
        "month": f"{month:%B}",
        "since": text_of(month),
        "in_words": in_words(),
        "roles": [choice for choice in Role.choices if reaches(principal.role, choice[0])],
        "manages": manages,
        "invitations": invitations.pending(principal.team) if manages else [],
        "form": form,
    }
    return render(request, "team/people.html", context, status=422 if form.errors else 200)


def _costs(principal: Principal, month: datetime) -> dict[str, float]:
    """The cost of this month's runs by the label of the person."""
    period = Period(month, figures.day_of(clock.now()) + DAY)
    rows = figures.read(principal, figures.by({"person"}), period, measures=("runs", "cost"))
    return {row["person"]: row["cost"] for row in rows}


@action("team")
def invite(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Send an invitation."""
    form = InvitationForm(request.POST)
    row = submitted(
        form,
        lambda fields: invitations.invite(principal, fields["email"], Role(fields["role"])),
    )
    if row is None:
        return _team(request, principal, form)
    messages.success(request, f"An invitation is on its way to {row.email}.")
    return redirect("team")


@action(
    "team",
    asks=Question(
        "Revoke this invitation?",
        "Its link stops working. You can invite the person again.",
        "Revoke",
    ),
)
def revoke(request: HttpRequest, principal: Principal, invitation_id: UUID) -> HttpResponse:
    """Revoke an invitation."""
    invitations.revoke(principal, invitation_id)
    return redirect("team")


@action("team")
def change_role(request: HttpRequest, principal: Principal, member_id: int) -> HttpResponse:
    """Give a member another role."""
    role = request.POST.get("role", "")
    if role not in Role.values:
        raise Invalid("There is no such role.", details={"path": "role"})
    members.change_role(principal, member_id, Role(role))
    return redirect("team")


@both
def remove(request: HttpRequest, principal: Principal, member_id: int) -> HttpResponse:
    """Ask what happens to the keys that a member has made, then remove them from the team."""
    if request.method != "POST":
        row = members.find(principal, member_id)
        context = {
            "member": row,
            "keys": members.leaves_behind(principal, member_id),
            "oneself": row.user_id == principal.user_id,
        }
        return render(request, "team/remove.html", context)
    keys = request.POST.get("keys", "revoke")
    if keys not in ("revoke", "keep"):
        raise Invalid("keys must be revoke or keep.", details={"path": "keys"})
    removal = members.remove(principal, member_id, keep_keys=keys == "keep")
    verb = "still work" if removal.keys_kept else "are revoked"
    named = ", ".join(f"{key.name} ({key.prefix})" for key in removal.keys)
    messages.success(
        request, f"They are no longer in the team. Keys that {verb}: {named or 'none'}."
    )
    return redirect("team")


@action("team")
def switch(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Switch to another of one's teams; other teams are not found."""
    try:
        team_id = UUID(request.POST.get("team", ""))
    except ValueError:
        raise Invalid("team must be the id of a team.", details={"path": "team"}) from None
    mine = Membership.objects.of_one_person().filter(user=principal.user_id, team__archived_at=None)
    if not mine.filter(team=team_id).exists():
        raise NotFound
    request.session["team"] = str(team_id)
    back = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(back, allowed_hosts=None):
        return redirect(back)
    return redirect("runs")


@uncached
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_variables("token")
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """The page behind an invitation's link: sign in or up, then join."""
    try:
        row = invitations.find(token)
        if request.method == "POST" and request.user.is_authenticated:
            return _join(request, row, request.user)
    except HostError as error:
        return refused(request, error)
    if not request.user.is_authenticated:
        request.session[SESSION] = str(row.pk)
    fits = request.user.is_authenticated and invitations.is_for(row, request.user)
    return render(request, "team/invitation.html", {"invitation": row, "fits": fits})


def _join(request: HttpRequest, row: Invitation, user: User) -> HttpResponse:
    membership = invitations.accept(row, user)
    request.session.pop(SESSION, None)
    request.session["team"] = str(membership.team_id)
    messages.success(request, f"You are now a member of {membership.team.name}.")
    return redirect("runs")
