"""Numbers that are none, or are far too long, in the query of every address: never a 500."""

from collections.abc import Iterable
from urllib.parse import quote

import pytest

from tests.tenancy.doors import ASGI, Door
from tests.tenancy.routes import knock
from tests.tenancy.test_doors import DJANGO, House, house

__all__ = ["house"]

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = (
    ("after", "at", "until"), ("limit", "pageSize", "historyLength"), ("page", "offset", "wait")
)  # fmt: skip
"""In groups of one meaning, as many as fit into a redirect."""
HOSTILE = ("9" * 5_000, "-1", "٣", "1e9", "0000001000000")
READS = [
    (route, door) for table in (DJANGO, ASGI) for route, door in table.items()
    if "GET" in door.answers
]  # fmt: skip

PARTS = 9
"""Of the addresses; a test for each."""


@pytest.mark.parametrize("part", range(PARTS))
async def test_no_number_is_an_error_of_the_host(house: House, bell: None, part: int) -> None:
    """Names at once; one by one where they are refused, which may be for the first of them."""
    wrong = []

    async def status(route: str, door: Door, names: Iterable[str], text: str) -> int:
        url = house.url(door, route)
        query = "&".join(f"{name}={quote(text)}" for name in names)
        address = f"{url}{'&' if '?' in url else '?'}{query}"
        answer = await knock("GET", address, house.askers["owner"] | door.headers, None)
        if answer.status >= 500:
            wrong.append(f"{answer.status} {address[:120]}")
        return answer.status

    for number, (route, door) in enumerate(READS[part::PARTS]):
        for text in {HOSTILE[number % len(HOSTILE)], HOSTILE[0]}:
            for names in NAMES:
                if await status(route, door, names, text) >= 400:
                    for name in names:
                        await status(route, door, [name], text)
    assert wrong == []


@pytest.mark.parametrize("value", HOSTILE[:3], ids=("long", "negative", "arabic"))
@pytest.mark.parametrize("asker", ["nobody", "owner"])
async def test_a_wait_that_is_no_number(house: House, bell: None, asker: str, value: str) -> None:
    address = f"/api/v1/runs?wait={quote(value)}"
    assert (await knock("POST", address, house.askers[asker], {})).status == 422
