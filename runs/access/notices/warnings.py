"""Notices about a team's budgets and alerts: who gets them, and their words."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.core.mail import EmailMessage
from django.db import connection
from django.db.models import F
from django.template.loader import render_to_string

from agui_host.backends.postgres import clock
from agui_host.links import absolute
from agui_host.teams.actors import user_id
from agui_host.teams.authentication import Principal, of_actor
from agui_host.teams.models import Membership, Team
from agui_host.teams.permissions import RUNNING_THE_TEAM
from runs.access.alerts import manage as alerts
from runs.access.budgets import manage as budgets
from runs.access.notices import mail, push
from runs.models import AlertState, Budget, Measure, Notice, PushSubscription, Way
from runs.models.notices.notice import ALERT_FIRED, ALERT_RESOLVED, BUDGET_WARNED

MOST = 50
"""Notices that a worker takes at a time, and that pages show."""
RECENT = "1 day"
"""Notices that are older when a worker first sees them are no news."""
KEPT = timedelta(days=90)
SWEPT = 1_000
TAKE = f"""
update runs_notice set noticed_at = now() where id in (
    select id from runs_notice
     where noticed_at is null and created_at > now() - interval '{RECENT}'
       and team_id <> all (%s::uuid[])
     order by created_at limit %s for no key update skip locked)
returning id
"""  # noqa: S608  a constant of this module


class Words(NamedTuple):
    """A notice in words: a line, and the path of its page."""

    text: str
    page: str


def take(busy: Sequence[UUID] = ()) -> list[Notice]:
    """New notices, with their teams; those of ``busy`` teams wait.

    A worker that dies after this has told nobody: a notice is sent at most once.
    """
    with connection.cursor() as cursor:
        cursor.execute(TAKE, [list(busy), MOST])
        keys = [row[0] for row in cursor.fetchall()]
    if not keys:
        return []
    rows = Notice.objects.already_found().filter(pk__in=keys).order_by("pk")
    return list(rows.select_related("team"))


def sweep() -> int:
    """Delete some notices that are older than ``KEPT``; how many."""
    old = Notice.objects.of_any_team().filter(created_at__lt=clock.now() - KEPT)
    keys = list(old.order_by("created_at").values_list("pk", flat=True)[:SWEPT])
    return old.filter(pk__in=keys).delete()[0]


def written(team: Team, notices: Sequence[Notice]) -> list[EmailMessage]:
    """A mail for each owner and admin with a confirmed address who sees any of these notices."""
    by_mail = [notice for notice in notices if Way.MAIL in notice.tell]
    if not by_mail:
        return []
    rows = Membership.objects.for_team(team).filter(role__in=RUNNING_THE_TEAM)
    mails = []
    for row in rows.filter(user__is_active=True).order_by("pk"):
        principal, address = of_actor(team, user_id(row.user_id)), mail.address_of(row.user_id)
        if principal is None or not address:
            continue
        if lines := [words(notice) for notice in _concerning(principal, by_mail)]:
            entries = [Words(line.text, absolute(line.page)) for line in lines]
            text = render_to_string("email/notices.txt", {"team": team, "lines": entries})
            first = lines[0].text if len(lines) == 1 else f"{len(lines)} notices"
            subject = f"{first} · {' '.join(team.name.split())}"
            mails.append(EmailMessage(" ".join(subject.split()), text, None, [address]))
    return mails


def for_browser(team: Team, row: PushSubscription, notices: Sequence[Notice]) -> list[Words]:
    """Those of the notices that this browser's person gets."""
    by_push = [notice for notice in notices if Way.PUSH in notice.tell]
    principal = push.reader(team, row) if by_push else None
    if principal is None:
        return []
    return [words(notice) for notice in _concerning(principal, by_push)]


def standing(principal: Principal) -> list[Words]:
    """The warnings on pages of an owner or admin: firing alerts, and budgets nearly spent."""
    if not principal.can("manage_budgets"):
        return []
    firing = alerts.visible(principal).filter(state=AlertState.FIRING, enabled=True)
    rows = budgets.visible(principal).filter(
        max__gt=0, used__gte=F("max") * budgets.WARN_AT, since__gte=budgets.begins(F("period"))
    )
    return [
        *(
            Words(
                f"\N{FIRST STRONG ISOLATE}{row.name}\N{POP DIRECTIONAL ISOLATE} is firing",
                f"/alerts/{row.pk}/",
            )
            for row in firing[:MOST]
        ),
        *(Words(_of_budget(_data(row)), "/budgets/") for row in rows.order_by("-pk")[:MOST]),
    ]


def words(notice: Notice) -> Words:
    """The line of a notice, and where it leads."""
    return Words(WORDS[notice.type](notice.data), notice.page)


def _concerning(principal: Principal, notices: Sequence[Notice]) -> list[Notice]:
    """The notices for this person, who sees their subjects."""
    keys = [notice.subject for notice in notices]
    visible: set[UUID] = set()
    if principal.can("manage_budgets"):
        visible.update(budgets.visible(principal).filter(pk__in=keys).values_list("pk", flat=True))
    if principal.can("manage_alerts"):
        visible.update(alerts.visible(principal).filter(pk__in=keys).values_list("pk", flat=True))
    return [notice for notice in notices if notice.subject in visible]


def _of_budget(data: dict[str, Any]) -> str:
    share = int(100 * data["used"] / data["max"])
    amount = f"{data['max']:,.2f}".removesuffix(".00")
    amount = f"{amount} tokens" if data["unit"] == "tokens" else f"${amount}"
    period = {"": "", "day": " for today"}.get(data["period"] or "", f" for this {data['period']}")
    return (
        f"{share} % of the budget of {amount}{period} is used ({data['scope']} {data['of'][:80]})"
    )


def _of_alert(data: dict[str, Any]) -> str:
    return f"{data['name']} {_figure(data, 'value')} (fires at {_figure(data, 'threshold')})"


def _fired(data: dict[str, Any]) -> str:
    return f"Firing: {_of_alert(data)}"


def _resolved(data: dict[str, Any]) -> str:
    return f"Resolved: {_of_alert(data)}"


def _figure(data: dict[str, Any], name: str) -> str:
    value = data[name]
    if value is None:
        return "without runs"
    number = f"{value:,.2f}".removesuffix(".00")
    return FIGURES[data["measure"]].format(number)


def _data(row: Budget) -> dict[str, Any]:
    return {
        "used": float(row.used), "max": float(row.max), "unit": row.unit, "scope": row.scope,
        "of": row.of, "period": row.period,
    }  # fmt: skip


WORDS = {BUDGET_WARNED: _of_budget, ALERT_FIRED: _fired, ALERT_RESOLVED: _resolved}
FIGURES = {
    Measure.FAILED_RUNS.value: "{} failed runs",
    Measure.FAILURE_RATE.value: "{} % of runs failed",
    Measure.P95_DURATION.value: "95 % of runs took at most {} s",
    Measure.RUNS.value: "{} runs",
    Measure.DOUBLE_CALLS.value: "{} tool calls made twice",
    Measure.COST.value: "${}",
    Measure.WAITING_QUESTIONS.value: "{} questions",
}
