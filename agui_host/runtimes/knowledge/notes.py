"""The team's wisdom, and people's profiles: short notes for its agents' context."""

from uuid import UUID

from django.conf import settings
from django.db import transaction

from agui_host.backends.postgres import clock
from agui_host.errors import Forbidden, NotFound
from agui_host.protocol.errors import Invalid
from agui_host.runtimes.caller import Caller
from agui_host.runtimes.knowledge.documents import require_inside, room, storable
from agui_host.runtimes.knowledge.models import NOTE, Profile, Wisdom
from agui_host.teams import audit
from agui_host.teams.models import Membership
from agui_host.teams.tenancy import TeamQuerySet


def wisdom(who: Caller) -> TeamQuerySet[Wisdom]:
    """The team's notes."""
    require_inside(who)
    return Wisdom.objects.for_team(who.team)


def write(who: Caller, text: str) -> Wisdom:
    """A new note. Raises Forbidden, Invalid, KnowledgeFull."""
    who.require("manage_agents")
    note = Wisdom(id=clock.new_id(), team=who.team, text=_short(text), written_by=who.label)
    with transaction.atomic():
        room(who.team, Wisdom, settings.AGUI_WISDOM_MAX)
        note.save(force_insert=True)
        audit.record(who, who.team, "wisdom.written", str(note.pk))
    note.refresh_from_db(fields=["created_at"])
    return note


def delete(who: Caller, note_id: UUID) -> None:
    """Delete a note. Raises NotFound, Forbidden."""
    rows = wisdom(who).filter(pk=note_id)
    if not rows.exists():
        raise NotFound("There is no such note.")
    who.require("manage_agents")
    with transaction.atomic():
        if rows.delete()[0]:
            audit.record(who, who.team, "wisdom.deleted", str(note_id))


def about(who: Caller) -> str:
    """The person's profile text. Raises Forbidden for a key."""
    profile = Profile.objects.for_team(who.team).filter(membership=_membership(who)).first()
    return profile.about if profile else ""


def describe(who: Caller, text: str) -> str:
    """Replace it; "" removes it. Raises Forbidden for a key, Invalid."""
    membership = _membership(who)
    stored = _short(text) if text else ""
    Profile.objects.update_or_create(
        membership=membership, defaults={"team": who.team, "about": stored}
    )
    return stored


def _membership(who: Caller) -> Membership:
    rows = Membership.objects.for_team(who.team)
    membership = rows.filter(user=who.user_id).first() if who.kind == "user" else None
    if membership is None:
        raise Forbidden("Only a person has a profile.")
    return membership


def _short(text: str) -> str:
    if len(text) > NOTE:
        raise Invalid(f"A note can have at most {NOTE} characters.", details={"path": "text"})
    return storable("text", text)
