"""JSON bodies of the API, read by the same strict rules as those of the streams."""

from typing import IO, Any

from rest_framework.parsers import BaseParser

from agui_host.protocol import strict_json


class StrictJSONParser(BaseParser):
    """Raises BadJson, which the exception handler turns into 400."""

    media_type = "application/json"

    def parse(self, stream: IO[bytes], *_: Any, **__: Any) -> Any:
        """The body as JSON. Raises BadRequest where other parsers would guess."""
        return strict_json.loads(stream.read())
