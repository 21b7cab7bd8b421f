"""Importing the archive of a run."""

from typing import IO, Any

from drf_spectacular.utils import extend_schema
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.protocol.encoding import NDJSON
from agui_host.teams.authentication import principal_of
from runs.access import access
from runs.access.inspect import archives
from runs.api.serializers import RunSerializer


class LinesParser(BaseParser):
    """Lines of JSON, as they are: their seal is of bytes."""

    media_type = NDJSON

    def parse(self, stream: IO[bytes], *_: Any, **__: Any) -> Any:
        """The body, as bytes."""
        return stream.read()


class RunImport(APIView):
    """Imports a run."""

    parser_classes = [LinesParser]

    @extend_schema(request={NDJSON: str}, responses={201: RunSerializer})
    def post(self, request: Request) -> Response:
        """A read-only run from an archive, which ``/export?format=archive`` of this host made."""
        principal = principal_of(request)
        access.require(principal, "run")
        # REST framework passes an empty body on as an empty object.
        body: Any = request.data or b""
        run = archives.restore(principal, body)
        return Response(RunSerializer(access.find(principal, run.pk)).data, status=201)
