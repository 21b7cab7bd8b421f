"""A team's budgets as callers manage them: permission, names, and the audit log."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import DateTimeField, F, Func, OuterRef, Q, Subquery, Sum, Value
from django.db.models.functions import Now

from agui_host.errors import Conflict, NotFound
from agui_host.protocol.errors import Invalid
from agui_host.protocol.input.numbers import LARGEST, whole
from agui_host.runtimes.models import Agent
from agui_host.teams import actors, audit
from agui_host.teams.actors import Acting
from agui_host.teams.authentication import Principal
from agui_host.teams.end_users import naming
from agui_host.teams.models import ApiKey, Membership
from agui_host.teams.tenancy import TeamQuerySet
from runs.access import access
from runs.lifecycle.budgets import spending
from runs.models import Budget, BudgetScope, Period, Run, Spent, Unit

WARN_AT = Decimal("0.8")
MOST_TOKENS, MOST_COST = 10**15, 10**12
CHANGES = ("at_limit", "reserve")
LATEST = 100
"""Ended runs of which a new budget takes the size of calls."""
NARROW = (BudgetScope.THREAD, BudgetScope.RUN)
"""The scopes whose budgets only readers of the thread or run see."""


class BudgetsFull(Conflict):
    """The team has as many budgets as this host allows; remove one first."""

    code = "budgets_full"


def visible(principal: Principal) -> TeamQuerySet[Budget]:
    """The team's budgets; those of a thread or run for callers who see that. Raises Forbidden."""
    principal.require("view")
    rows: TeamQuerySet[Budget] = Budget.objects.for_team(principal.team)
    if principal.agents is not None:
        agents = Agent.objects.for_team(principal.team).filter(slug__in=list(principal.agents))
        mine = [str(key) for key in agents.values_list("pk", flat=True)]
        return rows.filter(scope=BudgetScope.AGENT, key__in=mine)
    if principal.end_user is not None:
        return rows.filter(scope=BudgetScope.PERSON, key=principal.actor_id)
    unseen = _unseen(principal, rows)
    return rows.exclude(scope__in=NARROW, key__in=unseen) if unseen else rows


def find(principal: Principal, budget_id: UUID) -> Budget:
    """One of them. Raises NotFound, Forbidden."""
    if (row := visible(principal).filter(pk=budget_id).first()) is None:
        raise NotFound("There is no such budget.")
    return row


def count(principal: Principal) -> None:
    """Count everything that was spent, before budgets are shown."""
    if Budget.objects.for_team(principal.team).exists():
        spending.settle(principal.team.pk)


def create(
    principal: Principal, values: Mapping[str, Any], *, by: Acting | str | None = None
) -> Budget:
    """A new budget, which counts the spending since its period began.

    The audit log names ``by``, the principal by default. Raises Forbidden, Invalid, BudgetsFull.
    """
    principal.require("manage_budgets")
    unit, most = _amount(values)
    scope = BudgetScope(values["scope"])
    of = values.get("of") or (principal.team.slug if scope == BudgetScope.TEAM else "")
    key = key_of(principal, scope, of)
    with transaction.atomic():
        if Budget.objects.for_team(principal.team).count() >= settings.AGUI_BUDGETS_MAX:
            raise BudgetsFull(details={"max": settings.AGUI_BUDGETS_MAX})
        row = Budget(
            team=principal.team,
            scope=scope,
            of=of,
            key=key,
            unit=unit,
            max=most,
            reserve=values.get("reserve"),
            period=values.get("period") or "",
            at_limit=values.get("at_limit", "end"),
            created_by=actors.actor(by or principal).label,
        )
        row.since = begins(Value(row.period)) if row.period else Now()
        row.save(force_insert=True)
        spending.settle(principal.team.pk)
        row.refresh_from_db()
        row.used = _before(row)
        row.calls, row.largest = _latest(row)
        row.save(update_fields=["used", "calls", "largest"])
        audit.record(
            by or principal, principal.team, "budget.created", str(row.pk),
            scope=row.scope, of=row.of, unit=row.unit, max=float(row.max),
        )  # fmt: skip
    return row


def key_of(principal: Principal, scope: BudgetScope, of: str | None) -> str:
    """The id by which the runs of a budget are found; without ``of`` the team's. Raises Invalid."""
    of = of or (principal.team.slug if scope == BudgetScope.TEAM else "")
    if not of:
        raise Invalid("Name what the budget is for.", details={"path": "of"})
    return KEYS[scope](principal, of)


def change(
    principal: Principal,
    budget_id: UUID,
    values: Mapping[str, Any],
    *,
    by: Acting | str | None = None,
) -> Budget:
    """Set the amount, ``at_limit`` or ``reserve``. Raises Forbidden, Invalid, NotFound.

    The amount is ``max``, or has the name of the budget's unit. The audit log names ``by``, the
    principal by default.
    """
    find(principal, budget_id)
    principal.require("manage_budgets")
    with transaction.atomic():
        row = _locked(principal, budget_id)
        amounts = values.keys() & {"max", *Unit.values}
        if "max" in amounts:
            if len(amounts) > 1:
                raise Invalid("Set max alone.", details={"path": "max"})
            row.max = Decimal(values["max"])
        elif amounts:
            unit, row.max = _amount(values)
            if unit != row.unit:
                raise Invalid("A budget keeps its unit; make another one.", details={"path": unit})
        for name in CHANGES:
            if name in values:
                setattr(row, name, values[name])
        row.save()
        audit.record(
            by or principal, principal.team, "budget.changed", str(row.pk),
            fields=sorted(values), max=float(row.max),
        )  # fmt: skip
    return row


def remove(principal: Principal, budget_id: UUID) -> None:
    """Delete a budget. Raises Forbidden, NotFound."""
    find(principal, budget_id)
    principal.require("manage_budgets")
    with transaction.atomic():
        _locked(principal, budget_id).delete()
        audit.record(principal, principal.team, "budget.deleted", str(budget_id))


def state(row: Budget) -> str:
    """``ok``, ``warning`` from 80 % of the budget, ``spent``."""
    if row.is_spent:
        return "spent"
    return "warning" if row.used >= row.max * WARN_AT else "ok"


def _locked(principal: Principal, budget_id: UUID) -> Budget:
    rows = Budget.objects.for_team(principal.team).select_for_update(no_key=True)
    if (row := rows.filter(pk=budget_id).first()) is None:
        raise NotFound("There is no such budget.")
    return row


def _amount(values: Mapping[str, Any]) -> tuple[str, Decimal]:
    units = [name for name in Unit.values if values.get(name) is not None]
    if len(units) != 1:
        raise Invalid("Set tokens or cost, one of them.", details={"path": "tokens"})
    return units[0], Decimal(values[units[0]])


def begins(period: F | Value) -> Func:
    """The start of the present period of budgets."""
    return Func(period, function="agui_budget_begins", output_field=DateTimeField())


def _before(row: Budget) -> Decimal:
    """What matching runs that ended since the period began have spent.

    A run that ends while the budget is made has left a row that the next reader counts.
    """
    later = Spent.objects.for_team(row.team).filter(run_id=OuterRef("pk"), at__gte=row.since)
    summed = later.order_by().values("run_id").annotate(sum=Sum(row.unit)).values("sum")
    runs = Run.objects.for_team(row.team).filter(BY_KEY[BudgetScope(row.scope)](row.key))
    if row.period in Period.values:
        runs = runs.filter(ended_at__gte=row.since)
    # One statement, so one snapshot: it sees a run's end and the row that the end left, or neither.
    sums = runs.annotate(pending=Subquery(summed)).aggregate(
        read=Sum("tokens_in"), written=Sum("tokens_out"), cost=Sum("cost"), later=Sum("pending")
    )
    later_counted = sums["later"] or 0
    if row.unit == Unit.TOKENS:
        return Decimal((sums["read"] or 0) + (sums["written"] or 0)) - later_counted
    return Decimal(str(sums["cost"] or 0)).quantize(Decimal("0.000001")) - later_counted


def _latest(row: Budget) -> tuple[int, Decimal]:
    """How many matching runs ended of late, and the most that one has spent.

    A run is at least as large as its calls, so a budget of agents that are in use has not to learn
    how large these are.
    """
    runs = Run.objects.for_team(row.team).filter(BY_KEY[BudgetScope(row.scope)](row.key))
    newest = runs.filter(ended_at__isnull=False).order_by("-pk")[:LATEST]
    spent = [
        Decimal(str(cost or 0)) if row.unit == Unit.COST else Decimal((read or 0) + (written or 0))
        for read, written, cost in newest.values_list("tokens_in", "tokens_out", "cost")
    ]
    return len(spent), max(spent, default=Decimal(0)).quantize(Decimal("0.000001"))


def _unseen(principal: Principal, rows: TeamQuerySet[Budget]) -> set[str]:
    """The keys of the budgets whose thread or run the caller does not see."""
    unseen: set[str] = set()
    by_scope: dict[str, list[UUID]] = {}
    for scope, key in rows.filter(scope__in=NARROW).values_list("scope", "key"):
        by_scope.setdefault(scope, []).append(UUID(key))
        unseen.add(key)
    for scope, keys in by_scope.items():
        of_thread = scope == BudgetScope.THREAD
        visible = access.visible_threads(principal) if of_thread else access.visible(principal)
        matches = visible.filter(pk__in=keys).order_by().values_list("pk", flat=True)
        unseen -= set(map(str, matches))
    return unseen


# --- the ids by which a budget's runs are found


def _agent(principal: Principal, of: str) -> str:
    return _key(Agent.objects.for_team(principal.team), Q(slug=of), of)


def _team(principal: Principal, of: str) -> str:
    if of not in (principal.team.slug, str(principal.team.pk)):
        raise _unknown(of)
    return str(principal.team.pk)


def _person(principal: Principal, of: str) -> str:
    if actors.is_end_user(of):
        return _end_user(principal, of.removeprefix(actors.END_USER))
    of = of.removeprefix("user:")  # as usage and runs name people
    rows = Membership.objects.for_team(principal.team)
    member = rows.filter(user__username=of).first()
    if member is None and (number := whole(of, 0, LARGEST)) is not None:
        member = rows.filter(pk=number).first()
    if member is None:
        raise _unknown(of)
    return actors.user_id(member.user_id)


def _end_user(principal: Principal, of: str) -> str:
    """``sub``, or ``sub@prefix`` where several keys of the team have end users."""
    by_prefix = naming.realms_of(principal.team)
    sub, realm = naming.sub_of(of, by_prefix)
    if realm is not None:
        return actors.end_user_id(realm, sub)
    realms = set(by_prefix.values())
    if len(realms) > 1:
        raise Invalid(
            f"Several keys have end users; name one by its prefix: end:{of[:80]}@PREFIX.",
            details={"path": "of"},
        )
    if not realms:
        raise _unknown(of)
    return actors.end_user_id(realms.pop(), of)


def _of_key(principal: Principal, of: str) -> str:
    rows = ApiKey.objects.for_team(principal.team).filter(revoked=False)
    of = of.removeprefix("key:")
    return actors.key_id(UUID(_key(rows, Q(prefix=of), of)))


def _thread(principal: Principal, of: str) -> str:
    return _key(access.visible_threads(principal), Q(thread_id=of), of)


def _run(principal: Principal, of: str) -> str:
    return _key(access.visible(principal), Q(run_id=of), of)


def _key(rows: Any, named: Q, of: str) -> str:
    key = rows.filter(named | _by_id(of)).values_list("pk", flat=True).order_by("-pk").first()
    if key is None:
        raise _unknown(of)
    return str(key)


def _by_id(of: str) -> Q:
    try:
        return Q(pk=UUID(of))
    except ValueError:
        return Q(pk=None)


def _unknown(of: str) -> Invalid:
    return Invalid(f"The team has nothing of this scope named {of[:80]!r}.", details={"path": "of"})


KEYS: Mapping[BudgetScope, Callable[[Principal, str], str]] = {
    BudgetScope.AGENT: _agent,
    BudgetScope.TEAM: _team,
    BudgetScope.PERSON: _person,
    BudgetScope.KEY: _of_key,
    BudgetScope.THREAD: _thread,
    BudgetScope.RUN: _run,
}
BY_KEY: Mapping[BudgetScope, Callable[[str], Q]] = {
    BudgetScope.AGENT: lambda key: Q(agent_id=UUID(key)),
    BudgetScope.TEAM: lambda key: Q(team_id=UUID(key)),
    BudgetScope.PERSON: lambda key: (
        ~Q(end_user="") & Q(thread__creator=key) if actors.is_end_user(key) else Q(starter=key)
    ),
    BudgetScope.KEY: lambda key: Q(starter=key),
    BudgetScope.THREAD: lambda key: Q(thread_id=UUID(key)),
    BudgetScope.RUN: lambda key: Q(pk=UUID(key)),
}
