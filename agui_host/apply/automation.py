"""A team's webhooks and schedules, which act as its owner."""

from typing import Any

from agui_host.apply.changes import Changes
from agui_host.apply.document import ScheduleValues, TeamValues, WebhookValues
from agui_host.protocol import patient_json
from agui_host.teams.authentication import Principal
from agui_host.teams.models import Membership, Role, Team
from runs.access import webhooks
from runs.access.schedules import manage
from runs.models import Schedule, StopReason, Webhook
from runs.models.webhook import EVENTS


def apply_automation(team: Team, values: TeamValues, changes: Changes) -> None:
    """Make or change them; without an owner with an account they wait."""
    if not (values.webhooks or values.schedules):
        return
    owners = Membership.objects.for_team(team).filter(role=Role.OWNER).order_by("pk")
    if (owner := owners.select_related("user").first()) is None:
        changes.notes.append(
            f"! {team.slug}: webhooks and schedules wait until the owner has an account."
        )
        return
    user = owner.user
    principal = Principal("user", user.get_username(), team, Role.OWNER, user.pk)
    for webhook in values.webhooks:
        _apply_webhook(principal, webhook, changes)
    for name, schedule in values.schedules.items():
        _apply_schedule(principal, name, schedule, changes)


def _apply_webhook(principal: Principal, values: WebhookValues, changes: Changes) -> None:
    place = f"{principal.team.slug} webhook {values.url}"
    row = Webhook.objects.for_team(principal.team).filter(task=None, url=values.url).first()
    if row is None:
        row, secret = webhooks.create(principal, values.model_dump())
        if values.enabled is False:
            webhooks.change(principal, row.pk, {"enabled": False})
        changes.made(place)
        changes.secrets.append(f"{principal.team.slug} webhook {values.url} {secret}")
        return
    expected: dict[str, Any] = {
        "events": [event for event in EVENTS if event in values.events],
        "agents": None if values.agents is None else sorted(set(values.agents)),
        "contents": values.contents,
    }
    if values.enabled is not None:
        expected["enabled"] = values.enabled
    names = changes.difference(place, row, expected)
    if names:
        webhooks.change(principal, row.pk, {name: expected[name] for name in names})


def _apply_schedule(
    principal: Principal, name: str, values: ScheduleValues, changes: Changes
) -> None:
    place = f"{principal.team.slug} schedule {name}"
    row = Schedule.objects.for_team(principal.team).filter(name=name).first()
    expected = {key: value for key, value in values.model_dump().items() if value is not None}
    expected["cron"] = " ".join(values.cron.split())
    if row is None:
        manage.create(principal, {"name": name, **expected})
        changes.made(place, f"{expected['cron']} {values.time_zone}")
        return
    different = {}
    for member, value in expected.items():
        if (before := _stored(row, member)) != value:
            changes.changed(f"{place} {member}", before, value)
            different[member] = value
    if different:
        manage.change(principal, row.pk, different)


def _stored(row: Schedule, member: str) -> object:
    if member == "paused":
        return row.stopped == StopReason.PAUSED
    return patient_json.loads(row.input) if member == "input" else getattr(row, member)
