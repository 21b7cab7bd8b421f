"""Numbers that are none, or are far too long, in the query of every address: never a 500."""

from urllib.parse import quote

import pytest

from tests.tenancy.doors import ASGI
from tests.tenancy.test_doors import DJANGO, House, house, knock

__all__ = ["house"]

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = ("after", "at", "limit", "page", "pageSize", "offset", "wait", "until", "historyLength")
HOSTILE = ("9" * 5_000, "-1", "٣", "1e9", "0000001000000")
READS = [
    (route, door) for table in (DJANGO, ASGI) for route, door in table.items()
    if "GET" in door.answers
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
async def test_no_number_is_an_error_of_the_host(house: House, bell: None, name: str) -> None:
    wrong = []
    for number, (route, door) in enumerate(READS):
        url, value = house.url(door, route), quote(HOSTILE[number % len(HOSTILE)])
        for text in {value, HOSTILE[0]}:
            address = f"{url}{'&' if '?' in url else '?'}{name}={text}"
            answer = await knock("GET", address, house.askers["owner"] | door.headers, None)
            if answer.status >= 500:
                wrong.append(f"{answer.status} {address[:120]}")
    assert wrong == []


@pytest.mark.parametrize("value", HOSTILE[:3], ids=("long", "negative", "arabic"))
@pytest.mark.parametrize("asker", ["nobody", "owner"])
async def test_a_wait_that_is_no_number(house: House, bell: None, asker: str, value: str) -> None:
    address = f"/api/v1/runs?wait={quote(value)}"
    assert (await knock("POST", address, house.askers[asker], {})).status == 422
