"""The question of a budget that asks at its limit, and its answer: yes raises the budget."""

import json
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import F

from agui_host.backends.postgres import clock
from agui_host.errors import Forbidden
from agui_host.teams import audit, keys
from agui_host.teams.actors import Acting
from agui_host.teams.models import Membership, Team
from agui_host.teams.permissions import allowed, within
from runs.models import AtLimit, Budget, Run

PREFIX = "budget-"
REASON = "budget_exceeded"
ACTION = "manage_budgets"
SHARE = 5
"""A yes without an amount raises the budget by this part of it, and above its use."""
SCHEMA = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean", "title": "Raise the budget"},
        "by": {"type": "number", "exclusiveMinimum": 0, "title": "By how much"},
    },
    "required": ["approved"],
}
YES = {True, "yes", "true", "approve", "approved"}


def question(budget: Budget) -> dict[str, Any]:
    """The interrupt with which a run ends that has spent this budget."""
    step = _step(budget)
    unit = "tokens" if budget.unit == "tokens" else "dollars"
    name = f"{budget.scope} {budget.of}"
    return {
        "id": f"{PREFIX}{budget.pk}-{clock.new_id()}",
        "reason": REASON,
        "message": (
            f"The budget of {budget.max.normalize():,f} {unit} for {name} is spent"
            f" ({budget.used.normalize():,f} used). Raise it by {step.normalize():,f}?"
        ),
        "responseSchema": SCHEMA,
        "metadata": {
            "budget": str(budget.pk), "scope": budget.scope, "of": budget.of,
            "unit": budget.unit, "used": float(budget.used), "max": float(budget.max),
            "raise_by": float(step),
        },
    }  # fmt: skip


def should_ask(budget: Budget, run: Run) -> bool:
    """Whether the run ends with a question: not if it brings the answer to one, a no."""
    resume = json.loads(run.input or "{}").get("resume")
    entries = resume if isinstance(resume, list) else []
    answered = any(is_of_budget(str(entry.get("interruptId"))) for entry in entries)
    return budget.at_limit == AtLimit.ASK and not answered


def is_of_budget(interrupt_id: str) -> bool:
    """Whether a question with this id is a budget's."""
    return _budget_of(interrupt_id) is not None


def answered(team: Team, interrupt_id: str, entry: dict[str, Any], by: Acting) -> None:
    """Raise the budget if the answer is a yes; in the transaction that stores the answer.

    Raises Forbidden unless the person who says yes is allowed to change budgets.
    """
    key = _budget_of(interrupt_id)
    payload = entry.get("payload")
    if key is None or entry["status"] != "resolved" or not _is_yes(payload):
        return
    if not _may_raise(team, by):
        raise Forbidden(details={"action": ACTION})
    row = Budget.objects.for_team(team).select_for_update(no_key=True).filter(pk=key).first()
    if row is None:
        return
    amount = payload.get("by") if isinstance(payload, dict) else None
    row.max = F("max") + (Decimal(str(amount)) if amount else _step(row))
    row.save(update_fields=["max"])
    row.refresh_from_db()
    audit.record(by, team, "budget.raised", str(key), max=float(row.max))


def _may_raise(team: Team, by: Acting) -> bool:
    kind, _, key = by.actor_id.partition(":")
    if kind == "key":
        row = keys.newest(team, UUID(key))
        return (
            row is not None and allowed(keys.role_of(row), ACTION) and ACTION in within(row.scopes)
        )
    if kind != "user":
        return False
    member = Membership.objects.for_team(team).filter(user=int(key), user__is_active=True).first()
    return member is not None and allowed(member.role, ACTION)


def _budget_of(interrupt_id: str) -> UUID | None:
    if not interrupt_id.startswith(PREFIX):
        return None
    try:
        return UUID(interrupt_id[len(PREFIX) :][:36])
    except ValueError:
        return None


def _is_yes(payload: Any) -> bool:
    if isinstance(payload, dict):
        payload = payload.get("approved")
    return isinstance(payload, bool | str) and payload in YES


def _step(budget: Budget) -> Decimal:
    over = max(budget.used - budget.max, Decimal(0))
    return (over + max(budget.max / SHARE, Decimal(1))).quantize(Decimal("0.01"))
