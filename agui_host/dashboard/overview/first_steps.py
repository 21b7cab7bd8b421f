"""The four steps of a new team: an agent, its first run, a key, and a program that uses it."""

from typing import NamedTuple

from django.db.models import Exists
from django.urls import reverse

from agui_host.runtimes import team_agents
from agui_host.runtimes.kinds import kinds
from agui_host.runtimes.models import Agent
from agui_host.teams.authentication import Principal
from agui_host.teams.models import ApiKey, Team
from runs.models import Run


class Step(NamedTuple):
    """A step, whether it has been done, and the page where one does it."""

    title: str
    hint: str
    is_done: bool
    page: str


def of(principal: Principal) -> list[Step]:
    """The steps for people who can do all of them; none once every step has been done."""
    if not (principal.can("manage_agents") and principal.can("manage_keys")):
        return []
    team = principal.team
    keys = ApiKey.objects.for_team(team)
    has_agent, has_run, has_key, has_client = (
        Team.objects.filter(pk=team.pk)
        .values_list(
            Exists(Agent.objects.for_team(team).filter(enabled=True)),
            Exists(Run.objects.for_team(team)),
            Exists(keys.filter(revoked=False)),
            Exists(keys.exclude(last_used_at=None)),
        )
        .get()
    )
    if has_agent and has_run and has_client:
        return []
    agents = team_agents.visible(principal).filter(enabled=True).order_by("-is_default", "slug")
    # The runs of an external agent are opened by its program, not by a message on its page.
    to_try = agents.exclude(kind=kinds.EXTERNAL.name).first()
    agent = to_try or agents.first()
    its_page = reverse("agents") if agent is None else reverse("agent", args=[agent.slug])
    first_run = ("try", "Try an agent with a message.")
    if agent is not None and to_try is None:
        first_run = ("use", "Your program opens it: copy the lines.")
    return [
        Step("Connect an agent", "Test the address of yours, and add it.", has_agent,
             reverse("agent-connect")),
        Step("Start a first run", first_run[1], has_run, f"{its_page}#{first_run[0]}"),
        Step("Create a key", "A program signs in with it.", has_key or has_client,
             reverse("team-keys")),
        Step("Call it from your program", "Copy the lines for curl, JavaScript or Python.",
             has_client, f"{its_page}#use"),
    ]  # fmt: skip
