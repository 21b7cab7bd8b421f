"""The page of a team's sign-in service: its domains, and the roles that groups give."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from agui_host.dashboard.forms import GroupRuleForm, submitted
from agui_host.dashboard.pages import Question, action, both
from agui_host.links import absolute
from agui_host.teams.authentication import Principal
from agui_host.teams.directory import rules
from agui_host.teams.models import Role
from agui_host.teams.permissions import reaches


@both
def sign_in(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Domains and rules, and the form for a rule."""
    form = GroupRuleForm(request.POST or None)
    if request.method == "POST":
        made = submitted(
            form, lambda fields: rules.create(principal, fields["group"], Role(fields["role"]))
        )
        if made is not None:
            return redirect("team-sign-in")
    domains = list(rules.domains(principal))
    context = {
        "domains": domains,
        "rules": rules.visible(principal)[: rules.MOST_RULES],
        "owns": principal.can("manage_team"),
        "roles": [choice for choice in Role.choices if reaches(principal.role, choice[0])],
        "form": form,
        "scim": absolute("/scim/v2"),
    }
    status = 422 if form.errors else 200
    return render(request, "team/sign_in.html", context, status=status)


@action(
    "team-sign-in",
    asks=Question(
        "Remove this rule?",
        "People of this group lose the role when they sign in the next time.",
        "Remove",
    ),
)
def remove(request: HttpRequest, principal: Principal, rule_id: UUID) -> HttpResponse:
    """Remove a rule."""
    rules.remove(principal, rule_id)
    return redirect("team-sign-in")
