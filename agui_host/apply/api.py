"""``/api/v1/operator``: teams, limits, people, keys, agents and rules of the whole host.

The members are those of the file of ``agui-host apply`` (``document``), as JSON.
"""

from typing import Any

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.apply import export
from agui_host.apply.application import applied, planned
from agui_host.apply.changes import Changes
from agui_host.apply.document import (
    AgentValues,
    BadFile,
    Document,
    FromEnvironment,
    checked,
    env_of,
)
from agui_host.apply.operators import IsOperator, OperatorAuthentication
from agui_host.backends.postgres import scope
from agui_host.protocol.errors import HostError
from agui_host.runtimes.kinds import kinds
from agui_host.runtimes.middleware import keys
from agui_host.runtimes.models import Agent
from agui_host.teams.api.bodies import Body
from agui_host.teams.models import Team

MOST_TEAMS = 100
"""Teams of one request."""


class HostSerializer(Body):
    """The document, by the slugs of its teams."""

    teams = serializers.DictField(child=serializers.DictField())


class ChangesSerializer(serializers.Serializer[Any]):
    """A line for each change, and the keys and webhooks' secrets that are shown only now."""

    changes = serializers.ListField(child=serializers.CharField())
    notes = serializers.ListField(child=serializers.CharField())
    secrets = serializers.ListField(child=serializers.CharField())


class OperatorView(APIView):
    """A view for operators' keys."""

    authentication_classes = [OperatorAuthentication]
    permission_classes = [IsOperator]


class Host(OperatorView):
    """The host as a document."""

    @extend_schema(responses={200: HostSerializer})
    @scope.everywhere()
    def get(self, request: Request) -> Response:
        """The present state, without secrets; ``?team=`` (several times) leaves the others out."""
        slugs = request.query_params.getlist("team")
        if len(slugs) > MOST_TEAMS:
            raise BadFile(f"Ask for at most {MOST_TEAMS} teams at once.")
        if not slugs and Team.objects.filter(archived_at=None).count() > MOST_TEAMS:
            raise BadFile(f"There are more than {MOST_TEAMS} teams; name some of them with ?team=.")
        return Response(export.content(slugs))

    @extend_schema(request=HostSerializer, responses={200: ChangesSerializer})
    @scope.everywhere()
    def post(self, request: Request) -> Response:
        """Make everything in the document, or nothing; the rest of the host stays as it is."""
        document = _document(request)
        with transaction.atomic():
            changes = applied(document)
        for call in changes.afterwards:
            try:
                call()
            except HostError as error:
                changes.notes.append(f"! {error.message}")
        return Response(_shown(changes))


class Plan(OperatorView):
    """The changes of a document."""

    @extend_schema(request=HostSerializer, responses={200: ChangesSerializer})
    @scope.everywhere()
    def post(self, request: Request) -> Response:
        """The changes that the document would make; none is made, and no secret is shown."""
        changes = planned(_document(request))
        changes.secrets.clear()
        return Response(_shown(changes))


def _document(request: Request) -> Document:
    """The body's document. Raises BadFile, also for members that only a file may have.

    A file is written by people who can read the host's environment and start programs there; a
    key may be in the hands of others.
    """
    document = checked(HostSerializer.read(request))
    if len(document.teams) > MOST_TEAMS:
        raise BadFile(f"Send at most {MOST_TEAMS} teams at once.")
    for slug, team in document.teams.items():
        for name, agent in team.agents.items():
            _refuse_what_starts_programs(slug, name, agent)
    return document


def _refuse_what_starts_programs(slug: str, name: str, agent: AgentValues) -> None:
    place = f"teams.{slug}.agents.{name}"
    for member, values in _secrets_of(agent).items():
        if any(isinstance(value, FromEnvironment) or env_of(value) for value in values):
            raise BadFile(f"{place}.{member}: only a file takes values from the environment")
    if kinds.of(agent.kind).of_team:
        return
    rows = Agent.objects.of_any_team().filter(team__slug=slug, slug=name, kind=agent.kind)
    if (row := rows.first()) is None:
        raise BadFile(f"{place}.kind: only a file makes agents of the kind {agent.kind}")
    if agent.settings not in (None, row.settings) or agent.target not in (None, row.target):
        raise BadFile(f"{place}: only a file changes the settings and target of this kind")


def _secrets_of(agent: AgentValues) -> dict[str, list[Any]]:
    """The members of an agent with secrets, and the values of those."""
    secrets: dict[str, list[Any]] = {name: [] for name in keys.SECTIONS}
    secrets["headers"] = list((agent.headers or {}).values())
    secrets["on_behalf_of"] = [agent.on_behalf_of]
    for name in keys.SECTIONS:
        keys.each_key(getattr(agent, name) or [], secrets[name].append)
    return secrets


def _shown(changes: Changes) -> dict[str, list[str]]:
    return {"changes": changes.lines, "notes": changes.notes, "secrets": changes.secrets}
