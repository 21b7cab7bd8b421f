"""A team's budgets; those of single threads and runs are no part of a file."""

from decimal import Decimal
from typing import Any

from agui_host.apply.changes import BY, Changes
from agui_host.apply.document import OF_FILES, BadFile, BudgetValues, TeamValues
from agui_host.apply.teams import account_of
from agui_host.protocol.errors import Invalid
from agui_host.teams import actors, keys
from agui_host.teams.authentication import Principal
from agui_host.teams.models import ApiKey, Role, Team
from runs.access.budgets import manage
from runs.models import Budget, BudgetScope, Unit


def values_of(team: Team) -> list[dict[str, Any]]:
    """The team's budgets as a file describes them."""
    names = {actors.key_id(row.pk): row.name for row in _usable_keys(team)}
    return [
        {
            "scope": row.scope,
            **({} if row.scope == BudgetScope.TEAM else {"of": names.get(row.key, row.of)}),
            row.unit: _number(row.max),
            **({} if row.reserve is None else {"reserve": _number(row.reserve)}),
            **({"period": row.period} if row.period else {}),
            "at_limit": row.at_limit,
        }
        for row in _budgets(team)
    ]


def apply_budgets(team: Team, values: TeamValues, changes: Changes) -> None:
    """Make the file's budgets, or change their amounts and rules. Raises BadFile."""
    if not values.budgets:
        return
    operator = Principal("user", BY, team, Role.OWNER)
    remaining = _budgets(team)
    for number, budget in enumerate(values.budgets):
        try:
            _apply_budget(operator, budget, remaining, changes)
        except Invalid as invalid:
            place = f"teams.{team.slug}.budgets.{number}"
            raise BadFile(f"{place}: {invalid.message}") from None


def _apply_budget(
    operator: Principal, values: BudgetValues, remaining: list[Budget], changes: Changes
) -> None:
    """Make the budget, or change the first of ``remaining`` that it describes. Raises Invalid."""
    team = operator.team
    unit, most = _amount(values)
    names = [part for part in (values.scope, values.of, unit, values.period) if part]
    place = f"{team.slug} budget {' '.join(names)}"
    of, ids = values.of, set[str]()
    if values.scope == BudgetScope.PERSON and of and "@" in of and not actors.is_end_user(of):
        if (user := account_of(of)) is None:
            changes.notes.append(f"! {place}: waits until {of} has an account.")
            return
        of = user.get_username()
    elif values.scope == BudgetScope.KEY:
        usable = [row for row in _usable_keys(team) if row.name == of]
        ids.update(actors.key_id(row.pk) for row in usable)
        of = usable[0].prefix if usable else of
    same = (values.scope, unit, values.period or "")
    matches = [row for row in remaining if (row.scope, row.unit, row.period) == same]
    try:
        ids.add(manage.key_of(operator, BudgetScope(values.scope), of))
    except Invalid:
        # A budget stays after the person has left or the key was revoked.
        if not any(row.of == of for row in matches):
            raise
        ids.update(row.key for row in matches if row.of == of)
    row = next((row for row in matches if row.key in ids), None)
    expected = {"max": most, "reserve": values.reserve, "at_limit": values.at_limit}
    terms = {name: value for name, value in expected.items() if value is not None}
    if row is None:
        del terms["max"]
        basis = {"scope": values.scope, "of": of, "period": values.period, unit: most}
        manage.create(operator, {**basis, **terms}, by=BY)
        changes.made(place, _shown(most))
        return
    remaining.remove(row)
    different = {name: value for name, value in terms.items() if getattr(row, name) != value}
    for name, value in different.items():
        changes.changed(f"{place} {name}", _shown(getattr(row, name)), _shown(value))
    if different:
        manage.change(operator, row.pk, different, by=BY)


def _budgets(team: Team) -> list[Budget]:
    return list(Budget.objects.for_team(team).filter(scope__in=OF_FILES).order_by("pk"))


def _usable_keys(team: Team) -> list[ApiKey]:
    rows = ApiKey.objects.for_team(team).order_by("-created")
    return [row for row in rows if keys.usable(row)]


def _amount(values: BudgetValues) -> tuple[str, Decimal]:
    amounts = {unit: getattr(values, unit) for unit in Unit.values}
    known = {unit: Decimal(value) for unit, value in amounts.items() if value is not None}
    if len(known) != 1:
        raise Invalid("set tokens or cost, one of them")
    return known.popitem()


def _shown(value: Any) -> str:
    return f"{value.normalize():f}" if isinstance(value, Decimal) else str(value)


def _number(value: Decimal) -> int | float | str:
    """The same value for YAML and JSON; a text if no float has all of its digits."""
    if value == value.to_integral_value():
        return int(value)
    return float(value) if Decimal(str(float(value))) == value else str(value)
