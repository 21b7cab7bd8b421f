"""Adding a dialect as CONTRIBUTING.md describes it: a folder, and its name in the registry."""

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator

from agui_host import dialects
from agui_host.backends.postgres.bridge import db
from agui_host.protocol.wire.fold import PLACES
from agui_host.web import asgi, routing
from agui_host.web.bodies import Bodies
from agui_host.web.gated import Gated, Whole
from events.writer import JournalWriter
from runs.models import Run
from tests.asgi import DEADLINE, Exchange, ask
from tests.cast import Cast, Register, perform

pytestmark = pytest.mark.django_db(transaction=True)

TOY = Path(__file__).parent / "toy"
URL = "/toy/subject"
BODY = {"say": "Hello.", "to": "t"}


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The router of a host to whose dialects the toy was added, which answers this test."""
    copied = shutil.copytree(TOY, tmp_path / "toy", ignore=shutil.ignore_patterns("__pycache__"))
    assert len(list(copied.iterdir())) + 1 <= 6, "with the registry's"
    monkeypatch.setattr(dialects, "__path__", [*dialects.__path__, str(tmp_path)])
    monkeypatch.setattr(dialects, "DIALECTS", (*dialects.DIALECTS, "toy"))
    router = routing.http(Whole(asgi.django))
    gated = Gated(router, partial(routing.kind_of, router))
    monkeypatch.setattr("tests.asgi.application", Bodies(gated, partial(routing.in_pieces, router)))
    yield router
    for name in [name for name in sys.modules if name.startswith("agui_host.dialects.toy")]:
        del sys.modules[name]
    dialects._format.cache_clear()


async def test_a_toy_dialect_is_a_folder_and_its_name(
    cast: Cast, register: Register, writer: JournalWriter, toy: Any
) -> None:
    """A client starts a run over it and reads the answer, as the fold makes it, to its end."""
    heard = []

    async def agent(ctx: Any) -> AsyncIterator[Any]:
        heard.extend(message["content"] for message in ctx.messages)
        yield {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
        for word in ("Good", " day"):
            yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": word}
        yield {"type": "TEXT_MESSAGE_END", "messageId": "m"}

    await db(register, "subject", agent)
    async with Exchange("POST", URL, cast.alice.headers, json=BODY) as stream:
        assert stream.status == 200
        run = await db(Run.objects.select_related("thread").get)
        async with asyncio.timeout(DEADLINE):
            await perform(run, writer)
        body = await stream.rest()
    assert heard == ["Hello."]
    lines = [line for line in body.decode().splitlines() if line.startswith("data: ")]
    assert [json.loads(line.removeprefix("data: ")) for line in lines] == [
        {"type": "word", "text": "Good"},
        {"type": "word", "text": " day"},
        {"type": "end", "run": str(run.pk)},
    ]
    assert f"id: {3 * PLACES}\n" in body.decode(), "numbered by the events of the log"


async def test_it_has_what_its_routes_declare(cast: Cast, toy: Any) -> None:
    """Its kind at the gate, its credentials, the bound of its body, its description."""
    scope = {"type": "http", "method": "POST", "path": URL, "headers": []}
    assert routing.kind_of(toy, scope) == "start"
    assert (await ask("POST", URL, json=BODY)).status == 401
    assert (await ask("POST", URL, cast.alice.headers, json={**BODY, "more": 1})).status == 422
    assert (await ask("POST", URL, {"content-length": f"{10**9}"})).status == 413
    assert not await db(Run.objects.exists)
    generator: Any = SchemaGenerator()
    described = (await db(generator.get_schema, request=None, public=True))["paths"]
    assert described["/toy/{slug}"]["post"]["operationId"] == "toy_say"
