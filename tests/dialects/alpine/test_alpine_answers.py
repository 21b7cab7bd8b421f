"""Alpine's dialect over HTTP: answering what a run asked, and reading a run by a ticket."""

import json
from typing import Any

import pytest
from django.db import transaction

from agui_host.backends.postgres.bridge import db
from runs.models import Run
from tests.asgi import ask
from tests.cast import Actor, Cast, LiveRun, start
from tests.dialects.alpine.test_alpine import SSE, Named, live, named, read, stream_of
from tests.runs.asking import asked_again, asking

__all__ = ["live"]
pytestmark = pytest.mark.django_db(transaction=True)


class TestAnswers:
    """What reaches a client as a request event is answered by the ids of that event."""

    async def ask(self, cast: Cast, *names: str) -> list[Named]:
        run = await db(asking, cast.alice, *names)
        events = await read(cast.bob, run)
        return [event for event in events if "requestId" in event.data]

    def answered(self, event: Named, payload: Any = True, **more: Any) -> dict[str, Any]:
        ids = {name: event.data[name] for name in ("runId", "requestId")}
        return {**ids, "payload": payload, **more}

    async def send(self, actor: Actor, body: Any) -> Any:
        return await ask("POST", "/agents/answer", actor.headers, json=body)

    async def test_each_and_the_last_starts_the_run_that_goes_on(self, cast: Cast) -> None:
        one, two = await self.ask(cast, "i", "j")
        answer = await self.send(cast.bob, self.answered(one, {"fine": 1}))
        assert answer.status == 202
        waiting = {"run_id": None, "status": "interrupted", "ag_ui_stream": None}
        assert answer.json == waiting
        answer = await self.send(cast.bob, self.answered(two, None, status="cancelled"))
        run = await db(Run.objects.select_related("thread").latest, "pk")
        stream = f"/runs/{run.pk}/events"
        assert answer.json == {"run_id": str(run.pk), "status": "running", "ag_ui_stream": stream}
        resume = {entry["interruptId"]: entry for entry in json.loads(run.input)["resume"]}
        assert (resume["i"]["payload"], resume["j"]["status"]) == ({"fine": 1}, "cancelled")

    async def test_the_task_and_the_worktree_go_on(self, cast: Cast) -> None:
        request = {"task": "Fix it", "planMode": False, "worktreeDir": "wt/x"}
        props = {"alpine": request, "agentId": "echo", "more": 1}
        run = await db(asking, cast.alice, "i", forwardedProps=props)
        (event,) = [e for e in await read(cast.bob, run) if "requestId" in e.data]
        answer = await self.send(cast.bob, self.answered(event))
        going_on = await db(Run.objects.get, pk=answer.json["run_id"])
        assert json.loads(going_on.input)["forwardedProps"] == {"alpine": request, "more": 1}

    async def test_by_the_run_that_asked_first_when_it_was_asked_again(self, cast: Cast) -> None:
        (event,) = await self.ask(cast, "i")
        await db(transaction.atomic(asked_again), cast.alice)
        assert (await self.send(cast.bob, self.answered(event))).json["run_id"]
        again = await self.send(cast.bob, self.answered(event, "other"))
        assert (again.status, again.code) == (409, "interrupt_answered")

    async def test_not_for_everybody(self, cast: Cast) -> None:
        (event,) = await self.ask(cast, "i")
        assert (await self.send(cast.vera, self.answered(event))).code == "forbidden"
        assert (await self.send(cast.charlie, self.answered(event))).code == "not_found"
        wrong = [
            (404, {**self.answered(event), "requestId": "k"}),
            (422, {**self.answered(event), "runId": "k"}),
            (422, {"runId": event.data["runId"]}),
            (422, self.answered(event, status="perhaps")),
            (400, []),
        ]
        for status, body in wrong:
            assert (await self.send(cast.bob, body)).status == status, body


class TestTickets:
    async def test_the_stream_opens_by_a_ticket_once_and_again_by_a_cursor(
        self, cast: Cast, live: LiveRun
    ) -> None:
        await live.end()
        body = {"run": str(live.run.pk)}
        minted = await ask("POST", "/api/v1/tickets", cast.vera.headers, json=body)
        url = minted.json["ag_ui_stream"]
        assert url.startswith(f"/runs/{live.run.pk}/events?ticket=")
        first = await ask("GET", url, SSE)
        assert [event.id for event in named(first.body)] == [1, 2, 3, 4, 5]
        assert (await ask("GET", url, SSE)).code == "ticket_refused"
        back = await ask("GET", url, {**SSE, "last-event-id": "4"})
        assert [event.id for event in named(back.body)] == [5]

    async def test_of_another_run_opens_nothing(self, cast: Cast, live: LiveRun) -> None:
        other = await db(start, cast.alice)
        body = {"run": str(other.pk)}
        minted = await ask("POST", "/api/v1/tickets", cast.vera.headers, json=body)
        query = minted.json["ag_ui_stream"].partition("?")[2]
        assert (await ask("GET", stream_of(live.run, f"?{query}"), SSE)).status == 404
