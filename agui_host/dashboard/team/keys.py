"""The page of the team's API keys: make one, which is shown once, rotate, revoke."""

from datetime import datetime, time, timedelta
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.timezone import get_current_timezone

from agui_host.dashboard.agents import snippets
from agui_host.dashboard.forms import KeyForm, submitted
from agui_host.dashboard.pages import Question, action, both
from agui_host.protocol.errors import Invalid
from agui_host.protocol.input.numbers import whole
from agui_host.runtimes import team_agents
from agui_host.teams import keys as credentials
from agui_host.teams.access import api_keys
from agui_host.teams.authentication import Principal
from agui_host.teams.models import ApiKey, Role, Scope
from agui_host.teams.permissions import allowed, reaches, within

MOST = 200
LONGEST_OVERLAP = 30 * 24


@both
def keys(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The keys, and the form that makes one; only its answer shows the new key's text."""
    if request.method != "POST":
        return _page(request, principal, _form(principal))
    form = _form(principal, request)
    made = submitted(form, lambda fields: _create(principal, fields))
    if made is None:
        return _page(request, principal, form)
    return _page(request, principal, _form(principal), made[1], of=made[0])


def _create(principal: Principal, fields: dict[str, Any]) -> tuple[ApiKey, str]:
    until = fields["until"]
    return api_keys.create(
        principal,
        fields["name"],
        Role(fields["role"]),
        scopes=[scope for scope in Scope if scope in fields["scopes"]],
        agents=fields.get("agents") or None,
        expires=datetime.combine(until, time.max, get_current_timezone()) if until else None,
    )


@action("team-keys")
def rotate(request: HttpRequest, principal: Principal, key_id: UUID) -> HttpResponse:
    """Make a successor, shown on the page that answers."""
    hours = whole(request.POST.get("overlap", "24"), 0, LONGEST_OVERLAP)
    if hours is None:
        raise Invalid(f"overlap must be 0 to {LONGEST_OVERLAP} hours.", details={"path": "overlap"})
    row, text = api_keys.rotate(principal, key_id, timedelta(hours=hours))
    return _page(request, principal, _form(principal), text, of=row)


@action(
    "team-keys",
    asks=Question(
        "Make a secret for end users?",
        "Your product signs the tokens of its end users with it. If the key has a secret already, "
        "tokens signed with that are refused at once.",
        "Make the secret",
    ),
)
def end_users(request: HttpRequest, principal: Principal, key_id: UUID) -> HttpResponse:
    """Make the secret that signs a key's end users, or a new one, shown on the page."""
    secret = api_keys.renew_end_user_secret(principal, key_id)
    return _page(request, principal, _form(principal), secret, kind="secret")


@action(
    "team-keys",
    asks=Question(
        "Revoke this key?",
        "Its programs are refused at once. Keys, links and invitations made with it also end.",
        "Revoke",
    ),
)
def revoke(request: HttpRequest, principal: Principal, key_id: UUID) -> HttpResponse:
    """Revoke a key, with the keys, links and invitations that it made."""
    api_keys.revoke(principal, key_id)
    return redirect("team-keys")


def _form(principal: Principal, request: HttpRequest | None = None) -> KeyForm:
    roles = [choice for choice in Role.choices if reaches(principal.role, choice[0])]
    slugs = team_agents.visible(principal).order_by("slug").values_list("slug", flat=True)
    return KeyForm(request.POST if request else None, roles=roles, slugs=list(slugs))


def _page(
    request: HttpRequest,
    principal: Principal,
    form: KeyForm,
    text: str = "",
    *,
    kind: str = "key",
    of: ApiKey | None = None,
) -> HttpResponse:
    """The page; ``text`` is a new key or secret, ``of`` the key that it is."""
    manages = principal.can("manage_keys")
    rows = api_keys.visible(principal).order_by("-id")[:MOST] if manages else []
    context = {
        "rows": [(row, credentials.usable(row)) for row in rows],
        "manages": manages,
        "form": form,
        "text": text,
        "kind": kind,
        "snippets": [] if of is None else _snippets(principal, of, text),
        "key_days": principal.team.key_days,
    }
    return render(request, "team/keys.html", context, status=422 if form.errors else 200)


def _snippets(principal: Principal, row: ApiKey, text: str) -> list[tuple[str, str]]:
    """Commands that work as they are with the new key: they start a run, or list runs."""
    actions = {name for name in within(row.scopes) if allowed(row.role, name)}
    if "view" not in actions:
        return []
    agents = team_agents.visible(principal).filter(enabled=True).order_by("-is_default", "slug")
    some = agents if row.agents is None else agents.filter(slug__in=row.agents)
    usable = (agent for agent in some[:MOST] if not agent.is_fed)
    return snippets.ready(text, next(usable, None) if "run" in actions else None)
