"""The page of budgets: how much of each is used, and the forms that make and change them."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from agui_host.dashboard.forms import submitted
from agui_host.dashboard.overview.overview import address, text_of
from agui_host.dashboard.pages import Question, action, both
from agui_host.protocol.errors import Invalid
from agui_host.protocol.input.numbers import whole
from agui_host.runtimes.models import Agent
from agui_host.teams import actors
from agui_host.teams.authentication import Principal
from agui_host.teams.models import Membership
from runs.access.budgets import manage
from runs.models import AtLimit, Budget, BudgetScope, Period, Unit

ROWS = 50
"""Budgets of a page."""
MOST_PAGES = 1_000
SCOPES = [
    (BudgetScope.AGENT.value, "an agent"),
    (BudgetScope.TEAM.value, "the team"),
    (BudgetScope.PERSON.value, "a person"),
    (BudgetScope.KEY.value, "an API key"),
    (BudgetScope.THREAD.value, "a thread"),
    (BudgetScope.RUN.value, "a run"),
]
UNITS = [(Unit.COST.value, "US dollars"), (Unit.TOKENS.value, "tokens")]
PERIODS = [("", "in total"), (Period.MONTH.value, "each month"), (Period.DAY.value, "each day")]
AT_LIMIT = [
    (AtLimit.END.value, "end the run"),
    (AtLimit.ASK.value, "ask whether to raise it"),
]


class ChangeForm(forms.Form):
    """The amount of a budget, the room for a model call, and how a run ends at its limit."""

    amount = forms.DecimalField(label="Amount", min_value=0, max_digits=18, decimal_places=6)
    at_limit = forms.ChoiceField(label="Once spent", choices=AT_LIMIT)
    reserve = forms.DecimalField(
        label="Reserve for a model call (empty: the largest so far)",
        min_value=0,
        max_digits=18,
        decimal_places=6,
        required=False,
    )

    def values(self, unit: str) -> dict[str, Any]:
        """The form's values, as the verbs take them."""
        amount: Decimal = self.cleaned_data["amount"]
        if unit == Unit.TOKENS:
            amount = amount.quantize(Decimal(1))
        values = {unit: amount, "at_limit": self.cleaned_data["at_limit"]}
        if "reserve" in self.data:  # a page of an earlier release has no such field
            values["reserve"] = self.cleaned_data["reserve"]
        return values


class BudgetForm(ChangeForm):
    """A new budget; the verb finds the agent, person or key of this name."""

    scope = forms.ChoiceField(label="For", choices=SCOPES)
    of = forms.CharField(
        label="Name (a slug, login, key prefix or id; empty for the team)",
        max_length=255,
        required=False,
    )
    unit = forms.ChoiceField(label="In", choices=UNITS)
    period = forms.ChoiceField(label="Period", choices=PERIODS, required=False)

    field_order = ("scope", "of", "amount", "unit", "period", "at_limit", "reserve")


@dataclass(frozen=True, slots=True)
class Row:
    """A budget with its meter.

    ``filters`` is the filter of its runs in their list; None if that has none.
    """

    budget: Budget
    filters: dict[str, str] | None

    @property
    def state(self) -> str:
        return manage.state(self.budget)

    @property
    def used(self) -> float:
        return float(self.budget.used)

    @property
    def max(self) -> float:
        return float(self.budget.max)

    @property
    def amount(self) -> str:
        """The amount as its field shows it. A form for each row would double the page's time."""
        return f"{self.budget.max.normalize():f}"

    @property
    def reserve(self) -> str:
        """The reserve as its field shows it; empty if the budget learns it."""
        return "" if self.budget.reserve is None else f"{self.budget.reserve.normalize():f}"

    @property
    def room(self) -> float:
        """How much each run that is going keeps free."""
        return float(self.budget.largest if self.budget.reserve is None else self.budget.reserve)

    @property
    def warns(self) -> float:
        """From here on the budget is nearly spent."""
        return float(self.budget.max * manage.WARN_AT)

    @property
    def nearly(self) -> float:
        """A little less than ``max``: a meter that is full has passed it, and becomes red."""
        return self.max * 0.999

    @property
    def is_cost(self) -> bool:
        return self.budget.unit == Unit.COST.value

    @property
    def runs(self) -> str:
        """The address of the list of the runs that it counts; empty for a key, run or thread."""
        if self.filters is None:
            return ""
        # A budget without a period counts all runs, also those before it was made.
        since = {"since": text_of(self.budget.since)} if self.budget.period else {}
        return address(self.filters | since)


@both
def listing(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The budgets, and the form that makes one."""
    if request.method != "POST":
        return _list(request, principal, BudgetForm())
    principal.require("manage_budgets")
    form = BudgetForm(request.POST)
    names = ("scope", "of", "period")
    made = submitted(
        form,
        lambda fields: manage.create(
            principal, {name: fields[name] for name in names} | form.values(fields["unit"])
        ),
    )
    if made is None:
        return _list(request, principal, form)
    messages.success(request, "The budget was made. It counts the runs of its present period.")
    return redirect("budgets")


@action("budgets")
def change(request: HttpRequest, principal: Principal, budget_id: UUID) -> HttpResponse:
    """Set the amount of a budget, and how a run ends at its limit."""
    row, form = manage.find(principal, budget_id), ChangeForm(request.POST)
    principal.require("manage_budgets")
    changed = submitted(
        form, lambda fields: manage.change(principal, budget_id, form.values(row.unit))
    )
    if changed is None:
        problems = " ".join(str(problem) for rows in form.errors.values() for problem in rows)
        raise Invalid(f"The budget was not changed. {problems}")
    messages.success(request, "The budget was changed.")
    return redirect("budgets")


@action(
    "budgets",
    asks=Question(
        "Delete this budget?",
        "Its runs are no longer limited by it, at once also those that are going.",
        "Delete",
    ),
)
def remove(request: HttpRequest, principal: Principal, budget_id: UUID) -> HttpResponse:
    """Delete a budget."""
    manage.remove(principal, budget_id)
    return redirect("budgets")


def _list(request: HttpRequest, principal: Principal, form: BudgetForm) -> HttpResponse:
    visible = manage.visible(principal)
    manage.count(principal)
    number = whole(request.GET.get("page", ""), 1, MOST_PAGES) or 1
    budgets = list(visible.order_by("-pk")[ROWS * (number - 1) : ROWS * number + 1])
    rows = budgets[:ROWS]
    filters = _filters(principal, rows)
    context = {
        "principal": principal,
        "rows": [Row(row, filters.get(row.key)) for row in rows],
        "next": number + 1 if len(budgets) > ROWS else None,
        "at_limit": AT_LIMIT,
        "manages": principal.can("manage_budgets"),
        "form": form,
    }
    return render(request, "overview/budgets.html", context, status=422 if form.errors else 200)


def _filters(principal: Principal, rows: list[Budget]) -> dict[str, dict[str, str]]:
    """The filters of the list of runs by the keys of budgets, which can be named by an id."""
    keys = [row.key for row in rows if row.scope == BudgetScope.AGENT]
    agents = Agent.objects.for_team(principal.team).filter(pk__in=keys)
    people = {row.key for row in rows if row.scope == BudgetScope.PERSON}
    users = [int(key.removeprefix("user:")) for key in people if key.startswith("user:")]
    members = Membership.objects.for_team(principal.team).filter(user__in=users)
    logins = members.values_list("user", "user__username")
    return {
        str(principal.team.pk): {},
        **{str(pk): {"agent": slug} for pk, slug in agents.values_list("pk", "slug")},
        **{row.key: {"started_by": row.of} for row in rows if actors.is_end_user(row.key)},
        **{actors.user_id(pk): {"started_by": f"user:{login}"} for pk, login in logins},
    }
