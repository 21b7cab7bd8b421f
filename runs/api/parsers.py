"""JSON bodies of the API, read by the same strict rules as those of the streams."""

from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.parsers import BaseParser

from agui_project import strict_json
from agui_project.errors import TooLarge


class StrictJSONParser(BaseParser):
    """Raises BadJson and TooLarge, which the exception handler turns into 400 and 413."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        limit = settings.AGUI_MAX_BODY_BYTES
        if len(data := stream.read(limit + 1)) > limit:
            raise TooLarge(f"The body is larger than {limit} bytes.", details={"limit": limit})
        return strict_json.loads(data)
