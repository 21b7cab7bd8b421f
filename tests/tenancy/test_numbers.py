"""Numbers that are none, or are far too long, in the query of every address: never a 500."""

import re
from urllib.parse import urlencode

import pytest

from tests.tenancy.doors import ASGI, MOVED
from tests.tenancy.routes import knock
from tests.tenancy.test_doors import DJANGO, House, house

__all__ = ["house"]

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = (
    "after", "at", "until", "limit", "pageSize", "historyLength", "page", "offset", "wait",
)  # fmt: skip
LONG = "9" * 5_000
OTHERS = ("-1", "٣", "1e9", "0000001000000")
READS = [
    (route, door) for table in (DJANGO, ASGI) for route, door in table.items()
    if "GET" in door.answers
]  # fmt: skip
REFUSED = re.compile(r'"path": ?"(\w+)"')
"""The name that an answer refuses."""
KNOWN = re.compile(r'"known": ?\[([^]]*)\]')
"""The names that the address reads, where another one is refused before they are read."""

PARTS = 9
"""Of the addresses; a test for each."""


def queries(number: int, longest: int) -> list[dict[str, str]]:
    """Each name with the long text, of which a query has at most some, and with another text."""
    other, count = OTHERS[number % len(OTHERS)], -(-len(NAMES) // longest)
    return [
        {name: LONG if place % count == turn else other for place, name in enumerate(NAMES)}
        for turn in range(count)
    ]


def test_each_name_has_the_long_text_once() -> None:
    for longest in (3, 5):
        texts = [[query[name] == LONG for query in queries(0, longest)] for name in NAMES]
        assert all(sum(each) == 1 and len(each) > 1 for each in texts)


def further(texts: dict[str, str], refusal: str) -> list[dict[str, str]]:
    """The queries that a refusal leaves to try: without the names that it is about, if it says."""
    path, known = REFUSED.search(refusal), KNOWN.search(refusal)
    if path is None or path[1] not in texts:
        return [{name: text} for name, text in texts.items()] if len(texts) > 1 else []
    names = set(texts) - {path[1]}
    if known:
        names &= {*re.findall(r"\w+", known[1])}
    return [{name: text for name, text in texts.items() if name in names}] if names else []


@pytest.mark.parametrize("part", range(PARTS))
async def test_no_number_is_an_error_of_the_host(house: House, bell: None, part: int) -> None:
    """All names at once, then those that a refusal has kept from being read."""
    wrong = []
    for number, (route, door) in enumerate(READS[part::PARTS]):
        url, headers = house.url(door, route), house.askers["owner"] | door.headers
        usual = door.answers["GET"].owner
        # As many long texts as fit into a redirect.
        tries = queries(number, 3 if usual == MOVED.owner else 5)
        while tries:
            texts = tries.pop()
            address = f"{url}{'&' if '?' in url else '?'}{urlencode(texts)}"
            answer = await knock("GET", address, headers, None)
            if answer.status >= 500:
                wrong.append(f"{answer.status} {address[:120]}")
            if answer.status >= 400 and answer.status != usual:
                tries += further(texts, answer.text)
    assert wrong == []


@pytest.mark.parametrize("value", [LONG, *OTHERS[:2]], ids=("long", "negative", "arabic"))
@pytest.mark.parametrize("asker", ["nobody", "owner"])
async def test_a_wait_that_is_no_number(house: House, bell: None, asker: str, value: str) -> None:
    address = f"/api/v1/runs?{urlencode({'wait': value})}"
    assert (await knock("POST", address, house.askers[asker], {})).status == 422
