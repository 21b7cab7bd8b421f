"""Other protocols' ways to say something to work that has not ended, and the socket's answer."""

import asyncio
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.context.run_context import RunContext
from events.writer import JournalWriter
from runs.lifecycle import lifecycle
from runs.models import RunMessage
from tests.asgi import ask_now
from tests.cast import Cast, Register, log_of, perform, start
from tests.runs.steering.test_messages import DEADLINE, send, until_running
from tests.web.calling import calling

pytestmark = pytest.mark.django_db(transaction=True)
HI = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Faster."}]}


def messages(cast: Cast) -> list[tuple[str, str]]:
    rows = RunMessage.objects.for_team(cast.team).order_by("run", "seq")
    return list(rows.values_list("message_id", "content"))


class TestA2A:
    def test_a_message_to_a_working_task(self, cast: Cast) -> None:
        run = start(cast.alice, threadId="t")
        body = {
            "message": {**HI, "taskId": str(run.pk)},
            "configuration": {"returnImmediately": True},
        }
        for _ in range(2):
            answer = ask_now("POST", "/a2a/echo/message:send", cast.alice.headers, json=body)
            assert answer.status == 200, answer.body
            assert answer.json["task"]["id"] == str(run.pk)
        assert messages(cast) == [("m", "Faster.")]
        refusal = ask_now("POST", "/a2a/echo/message:send", cast.vera.headers, json=body)
        assert refusal.status == 403

    @pytest.mark.parametrize(
        ("message", "status"),
        [
            ({"parts": [{"text": "x" * 100_001}]}, 422),
            ({"parts": [{"url": "https://example.org/a.png", "mediaType": "image/png"}]}, 400),
        ],
    )
    def test_refused(self, cast: Cast, message: dict[str, Any], status: int) -> None:
        run = start(cast.alice)
        body = {"message": {**HI, **message, "taskId": str(run.pk)}}
        answer = ask_now("POST", "/a2a/echo/message:send", cast.alice.headers, json=body)
        assert answer.status == status, answer.body
        assert messages(cast) == []

    def test_an_ended_task(self, cast: Cast) -> None:
        run = start(cast.alice)
        lifecycle.cancel(run)
        body = {"message": {**HI, "taskId": str(run.pk)}}
        answer = ask_now("POST", "/a2a/echo/message:send", cast.alice.headers, json=body)
        assert answer.status == 400
        assert messages(cast) == []


class TestConversations:
    def test_a_users_items_are_messages_to_the_active_run(self, cast: Cast) -> None:
        start(cast.alice, threadId="t", messages=[{"role": "user", "content": "Hi."}])
        item = {"type": "message", "id": "msg_1", "role": "user", "content": "Faster."}
        url = "/v1/conversations/t/items"
        for actor, status in ((cast.alice, 200), (cast.vera, 403), (cast.charlie, 404)):
            answer = ask_now("POST", url, actor.headers, json={"items": [item]})
            assert answer.status == status, answer.body
        assert messages(cast) == [("msg_1", "Faster.")]
        spoken = {"type": "message", "role": "assistant", "content": "No."}
        both = ask_now(
            "POST", url, cast.alice.headers, json={"items": [{**item, "id": "2"}, spoken]}
        )
        assert both.status == 409
        assert len(messages(cast)) == 1


class TestTheSocket:
    async def test_it_notifies_the_sender(
        self, cast: Cast, register: Register, writer: JournalWriter, bell: None
    ) -> None:
        go = asyncio.Event()

        async def agent(ctx: RunContext) -> None:
            ctx.emit({"type": "STEP_STARTED", "stepName": "reading"})
            await anext(aiter(ctx.inbox))
            await go.wait()

        run = await db(start, cast.alice, await db(register, "reader", agent))
        params = {"run": str(run.pk), "role": "user", "content": "Faster."}
        async with calling(cast.alice.headers) as peer, calling(cast.bob.headers) as other:
            assert await peer.call("run.say", **params, id="a") == {"seq": 1}
            working = asyncio.create_task(perform(run, writer))
            receipt = await peer.params("said")
            assert await until_running(run)
            await other.call("run.say", **params, id="b")
            # A client that lost its socket asks again, and gets the same notification.
            await other.call("run.say", **params, id="a")
            assert await other.params("said") == receipt
            go.set()
            await asyncio.wait_for(working, DEADLINE)
            unread = await other.params("said")
            assert peer.notes == []
        log = await db(log_of, run)
        start_of = next(n for n, event in enumerate(log, 1) if event.get("messageId") == "a")
        assert receipt == {"run": str(run.pk), "id": "a", "seq": 1, "seen_seq": start_of}
        assert unread == {"run": str(run.pk), "id": "b", "seq": 2, "seen_seq": None}

    async def test_a_lost_notification(
        self,
        cast: Cast,
        register: Register,
        writer: JournalWriter,
        bell: None,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:

        monkeypatch.setattr("runs.worker.agent.inboxes._ringing", lambda run: lambda: None)
        monkeypatch.setattr("agui_host.web.host_socket.receipts.LOOK_EVERY", 0.1)

        async def agent(ctx: RunContext) -> None:
            await anext(aiter(ctx.inbox))

        run = await db(start, cast.alice, await db(register, "reader", agent))
        async with calling(cast.alice.headers) as peer:
            await peer.call("run.say", run=str(run.pk), role="user", content="Hi.", id="a")
            await asyncio.wait_for(perform(run, writer), DEADLINE)
            assert (await peer.params("said"))["seen_seq"]

    async def test_only_for_those_who_see_the_run(self, cast: Cast, bell: None) -> None:
        run = await db(start, cast.alice)
        await send(run, cast.alice, "a", "Hi.")
        async with calling(cast.charlie.headers) as peer:
            params = {"run": str(run.pk), "role": "user", "content": "Hi.", "id": "a"}
            assert await peer.refused("run.say", **params) == "not_found"
            await db(lifecycle.cancel, run)
            await peer.call("ping")
            assert peer.notes == []
