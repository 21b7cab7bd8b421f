"""Spectral and AsyncAPI's own parser accept the descriptions of the API and of the sockets."""

import json
from typing import Any

import pytest
import yaml
from drf_spectacular.generators import SchemaGenerator

from tests.conformance import node
from tests.house.repository import ROOT


def complaints_about(openapi: Any, asyncapi: str) -> dict[str, Any]:
    """The complaints of each reader, and the number of the sockets that the parser found."""
    texts = {"openapi": json.dumps(openapi), "asyncapi": asyncapi}
    done = node.run_node([str(node.ready_packages() / "describe.mjs")], json.dumps(texts))
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.fixture(scope="module")
def openapi() -> Any:
    generator: Any = SchemaGenerator()
    return generator.get_schema(request=None, public=True)


def test_the_descriptions_are_valid(openapi: Any) -> None:
    sockets = (ROOT / "docs" / "asyncapi.yaml").read_text()
    complaints = complaints_about(openapi, sockets)
    assert (complaints["openapi"], complaints["asyncapi"], complaints["parser"]) == ([], [], [])
    assert complaints["channels"] == len(yaml.safe_load(sockets)["channels"])


def test_a_wrong_description_is_refused() -> None:
    sockets = (ROOT / "docs" / "asyncapi.yaml").read_text()
    wrong = {
        "openapi": "3.0.3",
        "info": {"title": "A", "version": "1"},
        "paths": {"/a": {"get": {}}},
    }
    complaints = complaints_about(wrong, sockets.replace("action: send", "action: shout"))
    assert complaints["openapi"]
    assert complaints["asyncapi"]
    assert complaints["parser"]
