"""The team's API keys. A key's text is in the answer that creates it, and nowhere else."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.backends.postgres import clock
from agui_host.teams import keys
from agui_host.teams.access import api_keys
from agui_host.teams.api.bodies import Body, without_body
from agui_host.teams.api.pages import NewestFirst
from agui_host.teams.authentication import principal_of
from agui_host.teams.models import ApiKey, Role, Scope

LONGEST_OVERLAP = 30 * 24


class KeySerializer(serializers.ModelSerializer[ApiKey]):
    """A key without its text: ``prefix`` is how it begins."""

    expires_at = serializers.DateTimeField(source="expiry_date", allow_null=True)
    created_at = serializers.DateTimeField(source="created")
    created_by = serializers.CharField(source="created_by.username", default=None, allow_null=True)
    made_with = serializers.CharField(
        source="made_with.prefix", default=None, allow_null=True,
        help_text="The key that created it, and that it never outlives.",
    )  # fmt: skip
    replaces = serializers.CharField(source="replaces.prefix", default=None, allow_null=True)
    replaced_by = serializers.CharField(source="replaced_by.prefix", default=None, allow_null=True)
    usable = serializers.SerializerMethodField()
    end_users = serializers.SerializerMethodField()

    class Meta:
        model = ApiKey
        fields = [
            "id", "prefix", "name", "role", "scopes", "agents", "usable", "revoked", "expires_at",
            "created_at", "created_by", "made_with", "replaces", "replaced_by", "last_used_at",
            "last_used_from", "end_users",
        ]  # fmt: skip
        read_only_fields = fields

    def get_usable(self, row: ApiKey) -> bool:
        """Whether the key still opens anything."""
        return keys.usable(row)

    def get_end_users(self, row: ApiKey) -> bool:
        """Whether the key has a secret that signs end users."""
        return bool(row.end_user_secret)


class EndUserSecretSerializer(serializers.Serializer[Any]):
    """The secret that signs the tokens of a key's end users, this once."""

    secret = serializers.CharField(read_only=True)


class NewKeySerializer(KeySerializer):
    """A key with its text, this once."""

    key = serializers.CharField(read_only=True)

    class Meta(KeySerializer.Meta):
        fields = ["key", *KeySerializer.Meta.fields]
        read_only_fields = fields


class CreateKeySerializer(Body):
    """A key to make."""

    name = serializers.CharField(max_length=50)
    role = serializers.ChoiceField(Role.choices, default=Role.MEMBER)
    scopes = serializers.MultipleChoiceField(
        choices=Scope.choices,
        default=lambda: {Scope.READ.value, Scope.RUN.value},
        allow_empty=False,
        help_text="Default: read and run.",
    )
    agents = serializers.ListField(
        child=serializers.SlugField(max_length=64),
        allow_null=True,
        allow_empty=False,
        max_length=100,
        default=None,
        help_text="Slugs of the agents it is limited to; null for every agent.",
    )
    expires_at = serializers.DateTimeField(allow_null=True, default=None)

    def validate_expires_at(self, value: Any) -> Any:
        """The end of the key's life. Raises ValidationError for a past one."""
        if value is not None and value <= clock.now():
            raise serializers.ValidationError("This time is in the past.")
        return value


class RotateKeySerializer(Body):
    """How to rotate a key."""

    overlap_hours = serializers.IntegerField(
        min_value=0,
        max_value=LONGEST_OVERLAP,
        default=24,
        help_text="How long the old key still works.",
    )


class KeyList(generics.ListAPIView[ApiKey]):
    """The team's keys, newest first, including invalid ones."""

    serializer_class = KeySerializer
    pagination_class = NewestFirst
    queryset = ApiKey.objects.none()

    def get_queryset(self) -> QuerySet[ApiKey]:
        return api_keys.visible(principal_of(self.request))

    @extend_schema(request=CreateKeySerializer, responses={201: NewKeySerializer})
    def post(self, request: Request) -> Response:
        """Make a key; its text is shown this once."""
        fields = CreateKeySerializer.read(request)
        row, text = api_keys.create(
            principal_of(request),
            fields["name"],
            Role(fields["role"]),
            scopes=[scope for scope in Scope if scope in fields["scopes"]],
            agents=fields["agents"],
            expires=fields["expires_at"],
        )
        return _shown(row, text)


class KeyDetail(APIView):
    """One key of the team."""

    @extend_schema(responses={200: KeySerializer})
    def get(self, request: Request, key_id: UUID) -> Response:
        """One key."""
        return Response(KeySerializer(api_keys.find(principal_of(request), key_id)).data)


class KeyRotate(APIView):
    """Replaces a key by a successor."""

    @extend_schema(request=RotateKeySerializer, responses={201: NewKeySerializer})
    def post(self, request: Request, key_id: UUID) -> Response:
        """Make a successor with the same rights; the old key still works for a while."""
        overlap = timedelta(hours=RotateKeySerializer.read(request)["overlap_hours"])
        return _shown(*api_keys.rotate(principal_of(request), key_id, overlap))


class KeyRevoke(APIView):
    """Revokes a key."""

    @extend_schema(request=None, responses={200: KeySerializer})
    @without_body
    def post(self, request: Request, key_id: UUID) -> Response:
        """Revoke a key for good, and end its open streams; twice is fine."""
        return Response(KeySerializer(api_keys.revoke(principal_of(request), key_id)).data)


class KeyEndUserSecret(APIView):
    """The secret with which a key's owner signs tokens for ``X-AGUI-User``."""

    @extend_schema(request=None, responses={201: EndUserSecretSerializer})
    @without_body
    def post(self, request: Request, key_id: UUID) -> Response:
        """Make the secret, or a new one; tokens signed with the former secret are refused."""
        secret = api_keys.renew_end_user_secret(principal_of(request), key_id)
        return Response({"secret": secret}, status=201)

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request, key_id: UUID) -> Response:
        """Remove the secret: the key acts for no end user any longer."""
        api_keys.remove_end_user_secret(principal_of(request), key_id)
        return Response(status=204)


def _shown(row: ApiKey, text: str) -> Response:
    return Response({"key": text, **KeySerializer(row).data}, status=201)
