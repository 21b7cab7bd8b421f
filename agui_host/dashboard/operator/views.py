"""The host, teams with their limits, people with their accounts. Everyone else gets 404."""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from agui_host.dashboard.operator import host
from agui_host.dashboard.pages import Question, asked_first, posted_from, refused, uncached
from agui_host.errors import NotFound
from agui_host.protocol.errors import HostError
from agui_host.teams import audit, limits
from agui_host.teams.directory import accounts
from agui_host.teams.models import Membership, Team, TeamLimits
from agui_host.teams.tenancy import operator_code

if TYPE_CHECKING:
    LimitsFormBase = forms.ModelForm[TeamLimits]
else:
    LimitsFormBase = forms.ModelForm

MOST = 100
P = ParamSpec("P")


def operators(
    view: Callable[Concatenate[HttpRequest, User, P], HttpResponse],
) -> Callable[..., HttpResponse]:
    """Give the view the signed-in operator; for all others there is no such page."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        assert isinstance(request.user, User)  # noqa: S101  (login_required)
        try:
            if not request.user.is_superuser:
                raise NotFound
            with operator_code("operators' pages"):
                return view(request, request.user, *args, **kwargs)
        except HostError as error:
            return refused(request, error)

    return uncached(login_required(guarded))


@require_safe
@operators
def index(request: HttpRequest, operator: User) -> HttpResponse:
    """The host at present, and teams and people whose names have the words of the search."""
    words = request.GET.get("q", "").replace("\x00", "").strip()[:200]
    teams = Team.objects.filter(Q(slug__icontains=words) | Q(name__icontains=words))
    people = User.objects.filter(Q(username__icontains=words) | Q(email__icontains=words))
    counts = Membership.objects.for_operators().order_by().values("team").annotate(n=Count("pk"))
    members = dict(counts.values_list("team", "n"))
    factors = {"authenticator__type__in": ("totp", "webauthn")}
    counted = people.annotate(factors=Count("authenticator", filter=Q(**factors)))
    context = {
        "words": words,
        "host": None if words else host.of(request.GET.get("sort", "")),
        "days": host.DAYS,
        "most_teams": host.MOST,
        "teams": [(row, members.get(row.pk, 0)) for row in teams.order_by("slug")[:MOST]],
        "people": counted.order_by("username")[:MOST],
        "most": MOST,
    }
    return render(request, "operator/index.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@operators
def team(request: HttpRequest, operator: User, slug: str) -> HttpResponse:
    """A team's own limits."""
    row = Team.objects.filter(slug=slug).first()
    if row is None:
        raise NotFound("There is no such team.")
    own = TeamLimits.objects.filter(team=row).first() or TeamLimits(team=row)
    form = LimitsForm(request.POST or None, instance=own)
    if request.method == "POST" and form.is_valid():
        with transaction.atomic():
            form.save()
            if form.changed_data:
                who = audit.of_user(operator)
                audit.record(who, row, "admin.changed", "teamlimits", fields=form.changed_data)
        messages.success(request, "The limits were saved.")
        return redirect("operator-team", slug)
    status = 422 if form.errors else 200
    return render(request, "operator/team.html", {"team": row, "form": form}, status=status)


class LimitsForm(LimitsFormBase):
    """Empty is the value of the settings, 0 is no limit."""

    class Meta:
        model = TeamLimits
        fields = limits.NAMES

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            value = limits.default(name)
            field.widget.attrs["placeholder"] = f"{value:,}" if value else "no limit"


def _acting(
    question: Question, done: str
) -> Callable[[Callable[[User, Any], None]], Callable[..., HttpResponse]]:
    """A form's address that does something with an account, after the question."""

    def declared(act: Callable[[User, Any], None]) -> Callable[..., HttpResponse]:
        def view(request: HttpRequest, operator: User, person_id: int) -> HttpResponse:
            person = User.objects.filter(pk=person_id).first()
            if person is None:
                raise NotFound("There is no such person.")
            if person == operator:
                raise accounts.OwnAccount
            act(person, audit.of_user(operator))
            messages.success(request, done)
            return redirect("operator")

        return posted_from("operator")(operators(asked_first("operator", question)(view)))

    return declared


close = _acting(
    Question(
        "Close this account?",
        "The person's sessions, API keys, links and streams end in every team. You can open the "
        "account again; keys stay revoked.",
        "Close",
    ),
    "The account is closed.",
)(accounts.close)
reopen = _acting(
    Question("Open this account again?", "The person can sign in again.", "Open"),
    "The account is open.",
)(accounts.reopen)
forget_factors = _acting(
    Question(
        "Forget the second factors?",
        "Make sure that this person has asked for it: then a password alone signs in.",
        "Forget",
    ),
    "The second factors are deleted.",
)(accounts.forget_factors)
