"""The addresses of a dialect with an error shape of its own: by method, for callers only."""

import pytest

from tests.asgi import ask_now
from tests.cast import Cast

pytestmark = pytest.mark.django_db(transaction=True)
REFUSALS = {"/v1/models": "authentication_error", "/a2a/tasks": "UNAUTHENTICATED"}


@pytest.mark.parametrize("url", REFUSALS)
def test_a_stranger_is_refused_in_the_dialects_shape(url: str, cast: Cast) -> None:
    answer = ask_now("GET", url)
    assert answer.status == 401
    error = answer.json["error"]
    assert REFUSALS[url] in (error.get("type"), error.get("status"))


@pytest.mark.parametrize("url", REFUSALS)
def test_the_caller_is_known_before_the_method(url: str, cast: Cast) -> None:
    assert ask_now("PATCH", url).status == 401
    assert ask_now("PATCH", url, cast.alice.headers).status == 405


@pytest.mark.parametrize("url", ["/v1/nowhere", "/a2a/nowhere/at/all"])
def test_other_addresses_do_not_exist(url: str, cast: Cast) -> None:
    answer = ask_now("GET", url, cast.alice.headers)
    assert answer.status == 404
    assert answer.json["error"].get("status", "NOT_FOUND") == "NOT_FOUND"


def test_a_dialect_may_refuse_more(cast: Cast) -> None:
    other = {**cast.alice.headers, "a2a-version": "2.0"}
    assert ask_now("GET", "/a2a/tasks", other).status == 400
    assert ask_now("GET", "/v1/models", other).status == 200
