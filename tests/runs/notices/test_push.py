"""Notifications in browsers: who turns them on, and which questions a push service gets."""

import asyncio
import json
from base64 import urlsafe_b64encode
from datetime import timedelta
from typing import Any

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from agui_host.backends.postgres.bridge import db
from agui_host.teams.models import AuditEntry
from runs.access import comments, sharing
from runs.access.alerts import checking
from runs.access.notices import questions
from runs.access.sharing import Terms, To
from runs.models import Alert, Interrupt, Measure, PushKey, PushSubscription, Thread
from runs.worker.notices.pushing import Pusher
from tests.cast import Actor, Cast, bell, cast, start
from tests.runs.asking import asking, interrupted, question
from tests.runs.webhooks.receiver import Receiver, receiving, until

__all__ = ["bell", "cast"]
pytestmark = pytest.mark.django_db(transaction=True)
GONE = b"HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n"
MOVED = b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"

HOSTILE = (
    "http://169.254.169.254/latest",
    "ftp://a/",
    "https://localhost/",
    "http://push.example.com/",
    f"https://a.example/{'a' * 2000}",
    "",
)


@pytest.fixture(autouse=True)
def near(settings: Settings) -> None:
    settings.AGUI_OUTBOUND_ALLOW = ["127.0.0.1"]


def text_of(value: bytes) -> str:
    return urlsafe_b64encode(value).rstrip(b"=").decode()


class Browser:
    """A person's browser, with the keys of its subscription."""

    def __init__(self, actor: Actor, endpoint: str) -> None:
        self.client, self.endpoint = Client(headers={"accept": "text/html"}), endpoint
        self.client.force_login(actor.user)
        self._private = ec.generate_private_key(ec.SECP256R1())
        self._point = self._private.public_key().public_bytes(
            Encoding.X962, PublicFormat.UncompressedPoint
        )

    def turn(self, verb: str = "", **more: str) -> Any:
        fields = {
            "endpoint": self.endpoint,
            "p256dh": text_of(self._point),
            "auth": text_of(b"a" * 16),
        }
        return self.client.post(f"/inbox/push{verb}", {**fields, **more})

    def read(self, body: bytes) -> dict[str, Any]:
        """Decrypt a message as RFC 8291 asks of a browser."""
        salt, size, sender, sealed = body[:16], body[20], body[21:86], body[86:]
        assert size == 65
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender)
        shared = self._private.exchange(ec.ECDH(), key)
        secret = hkdf(shared, b"a" * 16, b"WebPush: info\0" + self._point + sender, 32)
        key_of_content = hkdf(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
        nonce = hkdf(secret, salt, b"Content-Encoding: nonce\0", 12)
        text = AESGCM(key_of_content).decrypt(nonce, sealed, None)
        assert text[-1:] == b"\x02"
        return dict(json.loads(text[:-1]))


def hkdf(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=length, salt=salt, info=info).derive(secret)


def read_by(one: Browser, other: Browser, body: bytes) -> dict[str, Any]:
    """What the browser reads that the message is for."""
    try:
        return one.read(body)
    except InvalidTag:
        return other.read(body)


async def requests_of(receiver: Receiver) -> int:
    """What one look of a worker sends, by the number of requests that arrive."""
    before = len(receiver.messages)
    pusher = Pusher()
    await asyncio.gather(*await pusher.tell())
    await pusher.close()
    return len(receiver.messages) - before


async def test_a_question_reaches_the_browsers_that_may_answer_it(cast: Cast) -> None:
    async with receiving() as receiver:
        alice, bob = await db(lambda: [Browser(a, receiver.url + a.user.username)
                                       for a in (cast.alice, cast.bob)])  # fmt: skip
        charlie = await db(Browser, cast.charlie, f"{receiver.url}charlie")
        for browser in (alice, bob, charlie):
            assert (await db(browser.turn)).status_code == 204
        run = await db(
            interrupted, cast.alice, question("i", message="Pay\x00 " + "\U0001f600" * 9000)
        )
        await db(lambda: Thread.objects.filter(pk=run.thread_id).update(visibility="private"))
        assert await requests_of(receiver) == 1
        (message,) = receiver.messages
        assert message.headers["content-encoding"] == "aes128gcm"
        assert message.headers["authorization"].startswith("vapid t=")
        assert int(message.headers["ttl"]) > 0
        content = alice.read(message.body)
        assert content["title"] == "echo asks"
        assert content["url"] == f"/runs/{run.pk}/"
        assert len(content["body"]) == 160
        assert len(message.body) <= 4096
        # Once only, and several at a time in one message.
        assert await requests_of(receiver) == 0
        await db(asking, cast.bob, "a", "b", thread="2")
        assert await requests_of(receiver) == 2
        (title,) = {read_by(alice, bob, each.body)["title"] for each in receiver.messages[1:]}
        assert title == "2 new questions"


@pytest.mark.parametrize("measure", Measure.values)
async def test_an_alert_reaches_the_browsers_of_owners_when_it_fires_and_is_resolved(
    cast: Cast, measure: str
) -> None:
    async with receiving() as receiver:
        alice, bob = await db(lambda: [Browser(a, receiver.url + a.user.username)
                                       for a in (cast.alice, cast.bob)])  # fmt: skip
        for browser in (alice, bob):
            assert (await db(browser.turn)).status_code == 204
        rows = [
            await db(lambda way=way: Alert.objects.create(
                team=cast.team, name=f"By {way}", measure=measure, threshold=1, window_hours=1,
                tell=[way], created_by="alice",
            ))
            for way in ("push", "mail")
        ]  # fmt: skip
        for row in rows:
            await db(checking.judge, row, 2.0)
        assert await requests_of(receiver) == 1
        content = alice.read(receiver.messages[0].body)
        assert content["body"].startswith("Firing: By push ") or "Firing" in content["title"]
        assert content["url"] == f"/alerts/{rows[0].pk}/"
        assert await requests_of(receiver) == 0
        for row in rows:
            row.calm_since = timezone.now() - timedelta(minutes=6)
            await db(checking.judge, row, 0.0)
        assert await requests_of(receiver) == 1
        assert "Resolved" in str(alice.read(receiver.messages[1].body))


async def test_who_is_told_nothing(cast: Cast) -> None:
    async with receiving() as receiver:
        alice, bob = await db(lambda: [Browser(a, receiver.url + a.user.username)
                                       for a in (cast.alice, cast.bob)])  # fmt: skip
        await db(asking, cast.alice, "before", thread="0")
        assert (await db(alice.turn)).status_code == 204
        assert (await db(bob.turn)).status_code == 204
        # Answered before anyone was told.
        run = await db(asking, cast.alice, "a")
        await db(lambda: Interrupt.objects.filter(run=run).update(status="expired"))
        await db(lambda: Interrupt.objects.exclude(run=run).update(noticed_at="2026-01-01T00:00Z"))
        assert await requests_of(receiver) == 0
        # A person who signs out, and a browser that another person signs in with.
        await db(lambda: bob.client.post("/logout/"))
        await db(lambda: alice.client.force_login(cast.bob.user))
        assert (await db(alice.turn)).status_code == 204
        await db(asking, cast.alice, "b", thread="2")
        assert await requests_of(receiver) == 1
        rows = await db(lambda: list(PushSubscription.objects.values_list("user__username")))
        assert rows == [("bob",)]
        # Turned off.
        assert (await db(alice.turn, "/off")).status_code == 204
        await db(asking, cast.alice, "c", thread="3")
        assert await requests_of(receiver) == 0
        actions = await db(lambda: list(
            AuditEntry.objects.filter(action__startswith="push.").values_list("action", flat=True)
        ))  # fmt: skip
        assert actions.count("push.turned_off") == 1


async def test_an_endpoint_that_is_gone_or_hostile(cast: Cast) -> None:
    async with receiving(MOVED, GONE) as receiver:
        alice = await db(Browser, cast.alice, receiver.url)
        assert (await db(alice.turn)).status_code == 204
        for thread, left in (("1", 1), ("2", 0)):
            await db(asking, cast.alice, "a", thread=thread)
            assert await requests_of(receiver) == 1
            assert await db(PushSubscription.objects.count) == left
        for endpoint in HOSTILE:
            answer = await db(alice.turn, endpoint=endpoint)
            assert answer.status_code == 422, endpoint
        assert (await db(lambda: alice.turn(p256dh="AAAA"))).status_code == 422


async def test_an_address_that_is_no_longer_allowed(cast: Cast, settings: Settings) -> None:
    async with receiving() as receiver:
        alice = await db(Browser, cast.alice, receiver.url)
        assert (await db(alice.turn)).status_code == 204
        settings.AGUI_OUTBOUND_ALLOW = []
        await db(asking, cast.alice, "a")
        assert await requests_of(receiver) == 0


async def test_a_silent_push_service_holds_up_no_other_team(cast: Cast) -> None:
    silence = asyncio.Event()
    async with receiving(silence) as silent, receiving() as receiver:
        charlie = await db(Browser, cast.charlie, silent.url)
        alice = await db(Browser, cast.alice, receiver.url)
        for browser in (charlie, alice):
            assert (await db(browser.turn)).status_code == 204
        pusher = Pusher()
        await db(asking, cast.charlie, "a")
        waiting = await pusher.tell()
        await until(lambda: silent.messages)
        await db(asking, cast.charlie, "b", thread="2")
        await db(asking, cast.alice, "c")
        await asyncio.gather(*await pusher.tell())
        assert len(receiver.messages) == 1
        assert len(silent.messages) == 1
        silence.set()
        await asyncio.gather(*waiting)
        await asyncio.gather(*await pusher.tell())
        assert len(silent.messages) == 2
        await pusher.close()


def test_the_rights_and_the_number_of_browsers(cast: Cast) -> None:
    endpoint = "http://127.0.0.1:9/"
    assert Browser(cast.vera, endpoint).turn().status_code == 403
    alice = Browser(cast.alice, endpoint)
    for number in range(10):
        assert alice.turn(endpoint=f"{endpoint}{number}").status_code == 204
    assert alice.turn(endpoint=f"{endpoint}3").status_code == 204
    assert alice.turn(endpoint=f"{endpoint}more").status_code == 409
    sealed = PushSubscription.objects.values_list("secrets", flat=True)
    assert not any("127.0.0.1" in text for text in sealed)


def test_the_key_of_the_installation_is_kept(cast: Cast) -> None:
    page = Browser(cast.alice, "").client.get("/inbox/").content.decode()
    key = PushKey.objects.get()
    assert f'data-key="{key.public}"' in page
    assert key.private
    assert Browser(cast.vera, "").client.get("/inbox/").content.decode().count("data-key") == 0
    assert PushKey.objects.get() == key


def test_the_app(cast: Cast) -> None:
    browser = Browser(cast.alice, "").client
    worker = browser.get("/service-worker.js")
    assert worker.headers["Content-Type"].startswith("text/javascript")
    assert worker.headers["Cache-Control"] == "no-cache"
    assert b"showNotification" in worker.content
    manifest = browser.get("/manifest.webmanifest").json()
    assert manifest["start_url"] == "/inbox/"
    assert manifest["icons"][0]["src"].endswith(".svg")
    page = browser.get("/inbox/")
    assert 'rel="manifest"' in page.content.decode()
    assert "manifest-src 'self'" in page.headers["Content-Security-Policy"]


def test_each_question_is_taken_by_one_worker(cast: Cast) -> None:
    assert Browser(cast.alice, "http://127.0.0.1:9/").turn().status_code == 204
    asking(cast.alice, "a", "b")
    asking(cast.charlie, "theirs")
    assert len(questions.take()) == 2
    assert questions.take() == []


async def test_mentions_and_shares_reach_the_browsers_of_their_people(cast: Cast) -> None:
    async with receiving() as receiver:
        actors = (cast.alice, cast.bob, cast.charlie)
        alice, bob, charlie = [await db(Browser, a, receiver.url + a.user.username) for a in actors]
        for browser in (alice, bob, charlie):
            assert (await db(browser.turn)).status_code == 204
        run = await db(start, cast.alice)
        await db(comments.write, cast.alice.principal, run.pk, "@bob \x07look", None)
        assert await requests_of(receiver) == 1
        assert bob.read(receiver.messages[0].body)["title"] == "alice mentioned you"
        to_team = To(team=cast.other_team.pk)
        for _ in range(2):  # the second within a minute is no news
            await db(sharing.share, cast.alice.principal, run, to_team, Terms())
        await db(sharing.share, cast.alice.principal, run, To(), Terms())
        assert await requests_of(receiver) == 1
        content = charlie.read(receiver.messages[1].body)
        assert content["body"] == "alice of Acme shared a run with you"
        assert content["url"] == f"/runs/{run.pk}/"
        # A member who may no longer see the run.
        await db(comments.write, cast.alice.principal, run.pk, "@bob again", None)
        await db(lambda: Thread.objects.update(visibility="private"))
        assert await requests_of(receiver) == 0
