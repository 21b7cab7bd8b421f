"""``profile``: the user, their role, and what they wrote about themselves."""

from runtimes.knowledge.models import Profile
from runtimes.providers.base import Asked, ContextEntry, Provider
from teams.models import Membership


class ProfileProvider(Provider):
    """The person who started the run; nothing for a key, or for who has left the team."""

    def read(self, asked: Asked) -> list[ContextEntry]:
        """One entry, or none."""
        # By id: somebody else may have the login by now.
        kind, _, key = asked.starter.partition(":")
        if kind != "user":
            return []
        rows = Membership.objects.for_team(asked.team).select_related("user")
        found = rows.filter(user=int(key), user__is_active=True).first()
        if found is None:
            return []
        name = found.user.get_full_name() or found.user.get_username()
        lines = [f"Name: {name}", f"Role in the team {asked.team.name}: {found.role}"]
        profile = Profile.objects.for_team(asked.team).filter(membership=found).first()
        if profile is not None and profile.about:
            lines.append(f"About: {profile.about}")
        return [{"description": "The user", "value": "\n".join(lines)}]
