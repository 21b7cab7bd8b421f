"""``/api/v1/operator/people``: a person's data, and their erasure, by an operator's key."""

import json
from typing import Any

from django.contrib.auth.models import User
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from agui_host.apply.api import OperatorView
from agui_host.apply.changes import BY
from agui_host.backends.postgres import scope
from agui_host.errors import NotFound
from agui_host.teams import audit
from agui_host.teams.api.bodies import Body
from agui_host.teams.directory import accounts
from agui_host.teams.models import Membership
from runs.access.people import erasure, export


class RecordsSerializer(serializers.Serializer[Any]):
    """The rows about a person; ``kind`` names the table."""

    records = serializers.ListField(child=serializers.DictField())


class ChangePersonSerializer(Body):
    """Changes to an account; absent members stay as they are."""

    active = serializers.BooleanField(required=False)
    forget_factors = serializers.BooleanField(required=False)


class ErasedSerializer(serializers.Serializer[Any]):
    """The name that stands for the person in the teams' records."""

    pseudonym = serializers.CharField()


class Person(OperatorView):
    """A person."""

    @extend_schema(responses={200: RecordsSerializer})
    @scope.everywhere()
    def get(self, request: Request, login: str) -> Response:
        """All that the host has about the person, without secrets; their teams' logs name it."""
        user = _find(login)
        records = list(map(json.loads, export.bounded(user)))
        for row in Membership.objects.of_one_person().filter(user=user).select_related("team"):
            audit.record(BY, row.team, "person.exported", user.get_username())
        return Response({"records": records})

    @extend_schema(request=ChangePersonSerializer, responses={204: None})
    @scope.everywhere()
    def patch(self, request: Request, login: str) -> Response:
        """Close or open the account, or delete the second factors of somebody who lost them."""
        user, changes = _find(login), ChangePersonSerializer.read(request)
        if "active" in changes:
            (accounts.reopen if changes["active"] else accounts.close)(user, BY)
        if changes.get("forget_factors"):
            accounts.forget_factors(user, BY)
        return Response(status=204)

    @extend_schema(responses={200: ErasedSerializer})
    @scope.everywhere()
    def delete(self, request: Request, login: str) -> Response:
        """Erase the person: account, private threads, comments; records keep a pseudonym."""
        return Response({"pseudonym": erasure.erase(_find(login), BY)})


def _find(login: str) -> User:
    user = None if "\x00" in login else User.objects.filter(username=login).first()
    if user is None:
        raise NotFound("There is no such person.")
    return user
