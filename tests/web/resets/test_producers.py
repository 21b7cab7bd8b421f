"""A producer whose newest batches are lost learns from which one on, and sends them again."""

import pytest

from agui_host.backends.postgres.bridge import db
from events.models import Event, Journal
from runs.models import Ingest
from tests.asgi import ask
from tests.cast import Cast
from tests.dialects.durable_streams.test_ingest import END, FINISHED, START, delta, opened

pytestmark = pytest.mark.django_db(transaction=True)


async def test_it_sends_again_what_is_missing(cast: Cast) -> None:
    batches = [[START], [delta("a")], [delta("b")], [delta("c")], [END, FINISHED]]
    external = {"slug": "ext", "kind": "external"}
    made = await ask("POST", "/api/v1/agents", cast.alice.headers, json=external)
    assert made.status == 201
    producer = await opened(cast)
    for seq, batch in enumerate(batches[:2]):
        assert (await producer.feed(seq, *batch)).status == 200
    ingest = await db(Ingest.objects.values().get, run=producer.run)
    head = (await db(Journal.objects.get, pk=producer.run.pk)).head
    assert (await producer.feed(2, *batches[2])).status == 200

    def go_back() -> None:
        Event.objects.filter(journal=producer.run.pk, seq__gt=head).delete()
        Journal.objects.filter(pk=producer.run.pk).update(head=head)
        assert Ingest.objects.filter(run=producer.run).update(**ingest) == 1

    await db(go_back)
    lost = await producer.feed(3, *batches[3])
    assert (lost.status, lost.code) == (409, "sequence_gap")
    missing = int(lost.headers["producer-expected-seq"])
    assert missing == 2
    for seq, batch in enumerate(batches[missing:], missing):
        assert (await producer.feed(seq, *batch)).status == 200
    assert await producer.texts() == ["a", "b", "c"]
    assert await producer.status() == "succeeded"
