"""Readers of AG-UI's events, as they are stored, over the wires of other programs' clients.

TanStack AI's two, CopilotKit's Intelligence, and the host's own subscription to a thread. Each
comes back with the place that its wire gave it.
"""

import json
from typing import Any
from uuid import UUID

import websockets

from tests.histories.checker.lines import seq_of
from tests.histories.load.clients import BUSY, Refused, Reset
from tests.histories.load.one_socket import call, reset_in
from tests.histories.load.readers import HISTORY_WENT_BACK, NOT_FOUND, SILENT, NoSuchRun, Reader
from tests.histories.load.readers import judge as judged

Json = dict[str, Any]
LINES = {"Accept": "application/x-ndjson"}
TRY_AGAIN = {"overloaded", "unavailable", "limit_reached"}


class OfThread(Reader):
    """A reader whose wire names a run by its client's names."""

    async def names(self) -> Json:
        async with self.clients.http() as client:
            answer = await client.get(f"/api/v1/runs/{self.run}")
            await judged(answer, self.clients)
            return dict(answer.json())

    def take_envelope(self, text: str) -> None:
        """An event with its id, or a RUN_ERROR that stands for no event of the log."""
        frame = json.loads(text)
        if frame.get("code") == "reset":
            raise Reset(frame["metadata"]["epoch"], frame["metadata"]["head"])
        if "chunk" in frame:
            self.take(seq_of(frame["id"]), json.dumps(frame["chunk"]), frame["id"])

    @property
    def offset(self) -> int | str:
        return self.place if self.after else -1

    def connect(self, path: str, **options: Any) -> Any:
        return websockets.connect(
            f"{self.clients.sockets}{path}", additional_headers=self.clients.headers,
            max_size=None, open_timeout=SILENT, ping_interval=SILENT, ping_timeout=SILENT,
            close_timeout=1, **options,
        )  # fmt: skip


class Lines(OfThread):
    """TanStack AI's ``fetchHttpStream``: lines of JSON."""

    transport = "lines"

    async def once(self) -> None:
        run = await self.names()
        path = f"/agui/agent/{run['agent']}/run"
        params = {"runId": run["run_id"], "offset": self.offset}
        async with (
            self.clients.http() as client,
            client.stream("GET", path, params=params, headers=LINES) as answer,
        ):
            await judged(answer, self.clients)
            rest = b""
            async for chunk in answer.aiter_raw():
                *whole, rest = (rest + chunk).split(b"\n")
                for line in filter(bytes.strip, whole):
                    self.take_envelope(line.decode())


class Envelopes(OfThread):
    """TanStack AI's ``webSocket()``."""

    transport = "envelopes"

    async def once(self) -> None:
        run = await self.names()
        path = f"/agui/agent/{run['agent']}/ws?runId={run['run_id']}&offset={self.offset}"
        async with self.connect(path.replace(" ", "%20")) as socket:
            try:
                async for text in socket:
                    self.take_envelope(text)
            except websockets.ConnectionClosed as closed:
                code = closed.rcvd.code if closed.rcvd else None
                if code == NOT_FOUND and self.clients.may_lose:
                    raise NoSuchRun from None
                if code == HISTORY_WENT_BACK:
                    raise Reset(None, self.after - 1) from None  # it came back with its cursor
                raise


class Intelligence(OfThread):
    """CopilotKit's channel of a thread, from the beginning of one of its runs."""

    transport = "intelligence"

    async def once(self) -> None:
        run = await self.names()
        async with self.clients.http() as client:
            url = f"/agui/intelligence/agent/{run['agent']}/connect"
            answer = await client.post(url, json={"threadId": run["thread_id"]})
            await judged(answer, self.clients)
            if not answer.content:
                raise Refused(answer.status_code, "a thread without runs")
            joined = answer.json()
        token = joined["joinToken"]
        path = f"/agui/intelligence/socket/websocket?join_token={token}&vsn=2.0.0"
        place = f"{UUID(self.run).hex}:{self.place}"
        params = {"stream_mode": "connect", "last_seen_event_id": place}
        async with self.connect(path) as socket:
            await socket.send(
                json.dumps(["1", "1", joined["realtime"]["topic"], "phx_join", params])
            )
            async for text in socket:
                _, _, _, event, payload = json.loads(text)
                self._take(event, payload, run)
                if self.ended:
                    return

    def _take(self, event: str, payload: Json, names: Json) -> None:
        match event, payload:
            case "phx_reply", {"status": "error", "response": {"reason": "reset"} as details}:
                raise Reset(details["epoch"], details["head"])
            case "phx_reply", {"status": "error", "response": {"reason": reason} as details}:
                if reason in TRY_AGAIN:
                    raise TimeoutError(reason)
                raise Refused(400, str(details))
            case "replay_failed", details:
                raise Reset(details["epoch"], details["head"])
            case "ag_ui_event", {"metadata": {"cpki_event_id": mark, **others}, **members}:
                run, _, cursor = mark.partition(":")
                if run == UUID(self.run).hex:
                    stored = {**members, "metadata": others} if others else members
                    if members.get("code") == "abort":
                        stored = _cancelled(members, names)
                    self.take(seq_of(cursor), json.dumps(stored), cursor)


def _cancelled(event: Json, names: Json) -> Json:
    """The stored end of a cancelled run, which CopilotKit's version of AG-UI has no outcome for."""
    stored = {"type": "RUN_FINISHED", "threadId": names["thread_id"], "runId": names["run_id"]}
    return {**stored, "outcome": {"type": "cancelled"}, "timestamp": event["timestamp"]}


class ThreadSocket(OfThread):
    """``thread.subscribe``: the runs of the thread after this one are confirmed, and left out."""

    transport = "thread-socket"

    async def once(self) -> None:
        thread = (await self.names())["thread_id"]
        place = {"run": self.run, "seq": self.place}
        async with self.connect("/ws/", subprotocols=["agui.host.v1"]) as socket:
            params = {"thread_id": thread, "after": place}
            await socket.send(call("thread.subscribe", params, id=1))
            async for text in socket:
                frame = json.loads(text)
                match frame:
                    case {"method": "event", "params": event}:
                        ack = {name: event[name] for name in ("subscription", "run", "seq")}
                        await socket.send(call("ack", ack))
                        if event["run"] == self.run:
                            cursor = event.get("cursor", event["seq"])
                            self.take(event["seq"], json.dumps(event["event"]), cursor)
                    case {"method": "end", "params": {"reason": "reset"} as details}:
                        raise Reset(details["epoch"], details["head"])
                    case {"error": error}:
                        if reset := reset_in(error, may_lose=self.clients.may_lose):
                            raise reset
                        if error["code"] in BUSY:
                            raise TimeoutError(error["message"])
                        raise Refused(error["code"], str(error))
                if self.ended:
                    return


BY_ID: list[type[Reader]] = [Intelligence, ThreadSocket]
BY_NAME: list[type[Reader]] = [Lines, Envelopes]
"""A client's name of a run that was repeated is that of the newest attempt."""
