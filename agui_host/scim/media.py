"""SCIM's media type, which is JSON."""

from typing import Any

from rest_framework.renderers import JSONRenderer

from runs.api.parsers import StrictJSONParser

SCIM = "application/scim+json"


class ScimParser(StrictJSONParser):
    """Bodies of directories, by the strict rules of all bodies."""

    media_type = SCIM


class ScimRenderer(JSONRenderer):
    """Answers to directories, which do not always send an Accept header."""

    media_type = SCIM
    format: Any = "scim"
