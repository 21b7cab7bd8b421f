"""``profile``: the user, their role, and their text about themselves; or an end user."""

from agui_host.runtimes.knowledge.models import Profile
from agui_host.runtimes.providers.base import ContextEntry, Provider, Query
from agui_host.teams.models import Membership


class ProfileProvider(Provider):
    """The person who started the run; nothing for a key without an end user."""

    of_team = True

    def read(self, query: Query) -> list[ContextEntry]:
        """The name, role and profile of the person who started the run.

        Of an end user the name, mail address and id; nothing for a person who has left the team.
        """
        if query.person is not None:
            person = query.person
            about = (("Name", person.name), ("E-mail", person.email), ("Id", person.id))
            text = "\n".join(f"{label}: {value}" for label, value in about if value)
            return [{"description": "The user", "value": text}]
        # By id: another person can have the login by now.
        kind, _, key = query.starter.partition(":")
        if kind != "user":
            return []
        rows = Membership.objects.for_team(query.team).select_related("user")
        membership = rows.filter(user=int(key), user__is_active=True).first()
        if membership is None:
            return []
        name = membership.user.get_full_name() or membership.user.get_username()
        lines = [f"Name: {name}", f"Role in the team {query.team.name}: {membership.role}"]
        profile = Profile.objects.for_team(query.team).filter(membership=membership).first()
        if profile is not None and profile.about:
            lines.append(f"About: {profile.about}")
        return [{"description": "The user", "value": "\n".join(lines)}]
