"""Postgres stores no NUL: no address that holds one gets further than the door."""

import pytest

from tests.asgi import ask_now, watch
from tests.cast import Cast

pytestmark = pytest.mark.django_db(transaction=True)
ADDRESSES = [
    "/api/v1/threads?agent=%00",
    "/api/v1/threads?tag=a%00",
    "/api/v1/runs?thread_id=%00",
    "/api/v1/runs?\0",
    "/agui/threads?agentId=%00",
    "/agui/threads/a\0b/messages",
    "/runs/?thread_id=%00",
    "/shared/\0/",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_with_nul(cast: Cast, address: str) -> None:
    answer = ask_now("GET", address, cast.alice.headers)
    assert (answer.status, answer.code) == (400, "bad_request")
    assert len(answer.headers["x-request-id"]) == 32


async def test_a_socket_with_nul() -> None:
    assert await watch("/ws/runs/x/?ticket=%00") == ([], 4400)


@pytest.mark.parametrize("page", ["/", "/runs/", "/api/v1/runs", "/accounts/login/"])
@pytest.mark.parametrize("name", ["sessionid", "csrftoken", "messages"])
def test_a_cookie_that_decodes_to_nul(cast: Cast, page: str, name: str) -> None:
    answer = ask_now("GET", page, {"cookie": f'{name}="a\\000b{"x" * 28}"'})
    assert answer.status < 500, answer.body
