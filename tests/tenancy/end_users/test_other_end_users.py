"""Every route, tried by another end user of the same key: this person's threads are not there.

The lines of the tables next to this folder say how each route is opened and each run is read.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.teams import authentication
from agui_host.teams.actors import END_USER
from agui_host.teams.models import Role
from events.writer import JournalWriter
from runs.access import access, feed
from runs.models import File, Run
from tests.asgi import watch
from tests.cast import Cast, Register, perform
from tests.suite.rows.rereading import Reread
from tests.teams.end_users.signed import Signing, start_as
from tests.tenancy.doors import ASGI, METHODS, NEVER_OPENS, SOCKETS, STAYS_OPEN
from tests.tenancy.readers import QUESTION, READERS, WORDS, Reader
from tests.tenancy.test_doors import DJANGO, OWN, SECRET, House, house, knock
from tests.tenancy.test_sight import talk
from tests.web.calling import calling

__all__ = ["house"]

pytestmark = pytest.mark.django_db(transaction=True)
MARKS = (b"OWN", b"SECRET")


@dataclass(frozen=True)
class Product:
    """A key with two end users, and a thread of two runs that Dora began."""

    cast: Cast
    signing: Signing
    runs: list[Run]

    @property
    def dora(self) -> dict[str, str]:
        """The headers of the person who began the thread."""
        return self.signing.headers("dora")

    @property
    def eve(self) -> dict[str, str]:
        """The headers of another person."""
        return self.signing.headers("eve")


@pytest.fixture
async def product(cast: Cast, register: Register, writer: JournalWriter) -> Product:
    agent = await db(register, "talk", talk, is_tool=True)
    signing = await db(Signing, cast.team, Role.OWNER)
    dora = await db(signing.principal, "dora")
    runs = []
    for name, text in (("earlier", "SECRET question"), ("own", "OWN question")):
        messages = [{"id": f"user-{name}", "role": "user", "content": text}]
        body = {"threadId": "t", "runId": name, "messages": messages}
        run = await db(partial(start_as, dora, agent, **body))
        runs.append(await perform(run, writer))
    return Product(cast, signing, runs)


async def test_no_reader_shows_another_end_users_run(product: Product) -> None:
    """Each line of the table of readers, by Eve and by the person whose run it is."""
    run = product.runs[1]
    for route, lines in READERS.items():
        for name, reader in lines.items():
            text = await read(reader, product.eve, run)
            assert not [mark for mark in MARKS if mark in text], (route, name, text[:3000])
            if {"mate", "person", "key"} <= {*reader.only}:
                mine = await read(reader, product.dora, run)
                missing = [own for own in reader.own if own not in mine]
                assert not missing, (route, name, missing, mine[:3000])


async def read(reader: Reader, headers: dict[str, str], run: Run) -> bytes:
    """What the reader gets; nothing where the host socket or a socket of a run refuses."""
    try:
        return await reader.read(headers, run, "")
    except AssertionError:
        return b""


@pytest.mark.parametrize("name", ["dora", "plain"])
async def test_the_person_and_the_plain_key_see_it(product: Product, name: str) -> None:
    """The key sees without a token what it sees of any thread of its team."""
    headers = product.dora if name == "dora" else product.signing.plain
    line = READERS["api/v1/runs/<uuid:run_id>/events"]["page"]
    text = await line.read(headers, product.runs[1], "")
    assert QUESTION in text
    assert WORDS in text


async def test_lists_and_the_feed_are_of_the_person_alone(product: Product) -> None:
    dora = await db(product.signing.principal, "dora")
    eve = await db(product.signing.principal, "eve")
    await db(_begun, product)

    def counts(principal: Any) -> tuple[int, int, int]:
        news = feed.page(principal, feed.place(principal, 0))
        runs = access.visible(principal).count()
        return runs, access.visible_threads(principal).count(), len(news.entries)

    assert (await db(counts, eve)) == (0, 0, 0)
    assert (await db(counts, dora))[:2] == (2, 1)


def _begun(product: Product) -> None:
    # A thread of the team, which is no end user's.
    plain = authentication.resolve(product.signing.plain, {})
    start_as(plain, product.cast.echo, threadId="of the team")


async def test_no_route_shows_or_changes_the_teams_things(house: House, bell: None) -> None:
    """Each method of each door, by an end user to whom nothing here belongs."""
    signing = await db(Signing, house.cast.team, Role.OWNER)
    secrets = (SECRET, str(house.run.pk), str(house.queued.pk), str(house.question.pk))
    state = Reread(house.state)
    before = await db(state)
    for route, door in {**DJANGO, **ASGI}.items():
        for method in door.answers:
            headers = {**signing.headers("eve"), **door.headers}
            answer = await knock(method, house.url(door, route), headers, house.body(door))
            what = f"{method} {route}: {answer.status} {answer.text[:500]}"
            assert not [word for word in secrets if word in answer.text], what
            if method == "POST":
                await db(File.objects.filter(creator__startswith=END_USER).delete)
            assert await db(state) == before, what


async def test_no_socket_shows_or_changes_the_teams_things(house: House, bell: None) -> None:
    signing = await db(Signing, house.cast.team, Role.OWNER)
    headers, before = {**OWN, **signing.headers("eve")}, await db(house.state)
    for route, door in SOCKETS.items():
        if {STAYS_OPEN, NEVER_OPENS} & {*door.answers["WS"]}:
            continue
        events, _ = await watch(house.url(door, route), headers)
        assert SECRET not in repr(events), route
    for method, (template, _) in METHODS.items():
        params = {k: house.named(v) if isinstance(v, str) else v for k, v in template.items()}
        async with calling(headers) as peer:
            answer = await peer.answer(method, **params)
            assert SECRET not in f"{answer} {peer.notes}", method
    assert await db(house.state) == before
