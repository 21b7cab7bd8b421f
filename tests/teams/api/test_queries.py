"""A list whose query has an unknown name answers nothing, instead of everything."""

import re

import pytest
from drf_spectacular.generators import SchemaGenerator

from tests.asgi import ask_now
from tests.cast import Cast, bell, cast

__all__ = ["bell", "cast"]
pytestmark = pytest.mark.django_db(transaction=True)


def lists() -> dict[str, set[str]]:
    """The addresses of lists without parameters in their path, and the queries of each."""
    description = SchemaGenerator().get_schema(request=None, public=True)
    return {
        address: {each["name"] for each in operations["get"].get("parameters", ())}
        for address, operations in description["paths"].items()
        if re.fullmatch(r"/api/v1/[\w.]+", address)
        and "limit" in str(operations.get("get", {}).get("parameters"))
    }


def test_an_unknown_name_is_refused_by_every_list(cast: Cast) -> None:
    assert len(lists()) > 10
    for address, names in lists().items():
        for misspelt in ("zzz" * 30, *(f"{name}_x" for name in names)):
            answer = ask_now("GET", f"{address}?{misspelt}=1", cast.alice.headers)
            assert (answer.status, answer.code) == (422, "unknown_member"), address
            details = answer.json["error"]["details"]
            assert set(details["known"]) == names, address
            assert details["nearest"] == (misspelt[:-2] if misspelt[-2:] == "_x" else None)
        assert ask_now("GET", f"{address}?limit=3", cast.alice.headers).status == 200


def test_a_misspelt_agent_does_not_list_every_run(cast: Cast) -> None:
    answer = ask_now("GET", "/api/v1/runs?agnet=echo", cast.alice.headers)
    assert (answer.status, answer.code) == (422, "unknown_member")
    assert answer.json["error"]["details"]["nearest"] == "agent"


@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_a_misspelt_filter_does_not_export_the_whole_log(cast: Cast, form: str) -> None:
    answer = ask_now("GET", f"/api/v1/audit.{form}?actoin=x", cast.alice.headers)
    assert (answer.status, answer.code) == (422, "unknown_member")
    assert answer.json["error"]["details"]["nearest"] == "action"


def test_a_page_leads_to_the_next_one(cast: Cast) -> None:
    page = ask_now("GET", "/api/v1/keys?limit=1", cast.alice.headers).json
    path = page["next"].split("/api/v1", 1)[1]
    assert ask_now("GET", f"/api/v1{path}", cast.alice.headers).status == 200
