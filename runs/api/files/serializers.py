"""A file as JSON."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from agui_host.protocol.input.file_references import PROVIDER
from runs.models import File


class SourceSerializer(serializers.Serializer[Any]):
    """The ``source`` of a message part that refers to a file."""

    type = serializers.CharField()
    value = serializers.CharField()
    provider = serializers.CharField()
    mimeType = serializers.CharField()


class FileSerializer(serializers.ModelSerializer[File]):
    """A file without its content; ``size`` is in bytes."""

    content_url = serializers.SerializerMethodField()
    source = serializers.SerializerMethodField()  # type: ignore[assignment]  # a field, not its own
    in_use = serializers.BooleanField(help_text="Whether a thread refers to it.")
    expires_at = serializers.DateTimeField(
        allow_null=True, help_text="When it is deleted; null while a thread refers to it."
    )

    class Meta:
        model = File
        fields = [
            "id", "name", "media_type", "size", "sha256", "content_url", "source", "in_use",
            "expires_at", "created_by", "created_at",
        ]  # fmt: skip
        read_only_fields = fields

    def get_content_url(self, row: File) -> str:
        """Where its content is."""
        return f"/api/v1/files/{row.pk}/content"

    @extend_schema_field(SourceSerializer)
    def get_source(self, row: File) -> dict[str, str]:
        """The ``source`` of a message part that refers to this file."""
        return {
            "type": "file",
            "value": str(row.pk),
            "provider": PROVIDER,
            "mimeType": row.media_type,
        }
