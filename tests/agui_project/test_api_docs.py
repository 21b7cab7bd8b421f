"""The API's description: made once for everybody, and not sent again to whoever has it."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from agui_project import api_docs


@pytest.fixture
def _unmade() -> None:
    api_docs._made.cache_clear()
    api_docs._schema.cache_clear()


@pytest.mark.usefixtures("_unmade")
def test_many_at_once_make_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    times = []
    make = SchemaGenerator.get_schema

    def counted(self: SchemaGenerator, *args: Any, **kwargs: Any) -> Any:
        times.append(threading.get_ident())
        return make(self, *args, **kwargs)

    monkeypatch.setattr(SchemaGenerator, "get_schema", counted)
    urls = ["/api/schema/", "/api/schema/?format=json", "/api/schema/?version=2", "/api/schema/"]
    with ThreadPoolExecutor(len(urls)) as pool:
        answers = list(pool.map(lambda url: Client().get(url), urls))
    assert {answer.status_code for answer in answers} == {200}
    assert len(times) == 1
    assert len({answer.content for answer in answers}) == 2  # YAML and JSON
    assert answers[1].json()["openapi"].startswith("3.")


def test_who_has_it_is_told_so(client: Client) -> None:
    first = client.get("/api/schema/")
    again = client.get("/api/schema/", headers={"if-none-match": first["ETag"]})
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])
    json = client.get("/api/schema/?format=json", headers={"if-none-match": first["ETag"]})
    assert json.status_code == 200
