"""Clients of other wire formats: start a run, read it to its end, resume as their owners do."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx

from tests.histories.checker.dialects import ANY, hash_of_text
from tests.histories.load.clients import BUSY, GONE, Refused
from tests.histories.load.starting import Order

Json = dict[str, Any]
LOST = {404, 410}
TASK = "TASK_STATE_"
META = "io.modelcontextprotocol/"


class Client:
    """Starts a run under a key, as often as its answer is lost, and collects its text."""

    dialect = ""

    def __init__(self, order: Order) -> None:
        self.order, self.clients = order, order.clients
        self.name = self.clients.name(self.dialect)
        self.text = ""
        self.terminal = ""
        """The run's status, once the format has told it."""

    async def read(self) -> None:
        while not self.terminal:
            try:
                async with self.clients.http() as http:
                    await self.once(http)
            except (*GONE, KeyError, json.JSONDecodeError):
                pass  # also an answer that is cut in the middle
            except Refused as refused:
                if self.clients.may_lose and refused.status in LOST:
                    self.begin_again()
                else:
                    self.clients.refused.append(f"{self.name}: {refused}")
            if not self.terminal:
                await self.clients.pause()
        run = await self._run()
        if run is None:
            return
        self.order.write(self.dialect, run, 200)
        self.clients.recording.write(
            "text", reader=self.name, dialect=self.dialect, run=run,
            text=hash_of_text(self.text), terminal=self.terminal,
        )  # fmt: skip

    async def once(self, http: httpx.AsyncClient) -> None:
        """One connection, to its end."""
        raise NotImplementedError

    def begin_again(self) -> None:
        """The run, or what the client has of it, is gone: start it again, under the same key."""
        self.text = ""

    @property
    def message(self) -> str:
        """What the user says: the script, for a wire without a place for it."""
        return json.dumps(self.order.script)

    @property
    def keyed(self) -> dict[str, str]:
        return {"Idempotency-Key": self.order.key}

    async def _run(self) -> str | None:
        """The run, by its thread: a format need not name the host's id."""

        async def ask() -> httpx.Response:
            async with self.clients.http() as http:
                return await http.get("/api/v1/runs", params={"thread_id": self.order.thread})

        rows = (await self.clients.insist(ask)).json()["results"]
        if len(rows) != 1 and not self.clients.may_lose:
            self.clients.refused.append(f"{self.name}: {len(rows)} runs in its thread")
        return str(rows[-1]["id"]) if rows else None


def judged(answer: httpx.Response) -> httpx.Response:
    if answer.status_code in BUSY:
        raise httpx.HTTPError(f"busy: {answer.status_code}")
    if not answer.is_success:
        raise Refused(answer.status_code, f"at {answer.url}")
    return answer


async def data_of(answer: httpx.Response) -> AsyncIterator[Json]:
    """The objects of a stream of server-sent events."""
    async for fields in fields_of(answer):
        if fields["data"].startswith("{"):
            yield json.loads(fields["data"])


async def fields_of(answer: httpx.Response) -> AsyncIterator[dict[str, str]]:
    """The frames with data; what a cut leaves of a frame is none."""
    rest = b""
    async for chunk in answer.aiter_raw():
        *whole, rest = (rest + chunk).split(b"\n\n")
        for frame in whole:
            lines = frame.decode().split("\n")
            fields = dict(line.split(": ", 1) for line in lines if ": " in line)
            if "data" in fields:
                yield fields


class AiSdk(Client):
    """Replays the message from its start after each cut; loads it if nothing runs any more."""

    dialect = "ai-sdk"
    begun = False

    def begin_again(self) -> None:
        super().begin_again()
        self.begun = False

    async def once(self, http: httpx.AsyncClient) -> None:
        url = f"/api/chat/{self.clients.agent}"
        part = {"type": "text", "text": self.message}
        message = {"id": "m", "role": "user", "parts": [part]}
        request = http.build_request(
            "POST", url, json={"id": self.order.thread, "messages": [message]}, headers=self.keyed
        )
        if self.begun:
            request = http.build_request("GET", f"{url}/{self.order.thread}/stream")
        answer = judged(await http.send(request, stream=True))
        self.begun = True
        try:
            if answer.status_code == 204:
                await self._load(http, f"{url}/{self.order.thread}")
                return
            self.text = ""
            async for frame in data_of(answer):
                match frame:
                    case {"type": "text-delta", "delta": delta}:
                        self.text += delta
                    case {"type": "abort"}:
                        self.terminal = "cancelled"
                    case {"type": "error"}:
                        self.terminal = "failed"
                    case {"type": "finish"}:
                        self.terminal = "succeeded"
        finally:
            await answer.aclose()

    async def _load(self, http: httpx.AsyncClient, url: str) -> None:
        messages = judged(await http.get(url)).json()
        if not messages and self.clients.may_lose:
            self.begin_again()
            return
        parts = [part for each in messages if each["role"] == "assistant" for part in each["parts"]]
        self.text = "".join(part["text"] for part in parts if part["type"] == "text")
        self.terminal = ANY


class Responses(Client):
    """Comes back with the number of the last event."""

    dialect = "responses"
    ENDS = {
        "response.completed": "succeeded",
        "response.failed": "failed",
        "response.cancelled": "cancelled",
    }

    def __init__(self, order: Order) -> None:
        super().__init__(order)
        self.id, self.last = "", -1

    def begin_again(self) -> None:
        super().begin_again()
        self.id, self.last = "", -1

    async def once(self, http: httpx.AsyncClient) -> None:
        body = {
            "model": self.clients.agent, "input": self.message, "stream": True, "background": True,
            "conversation": self.order.thread,
        }  # fmt: skip
        request = http.build_request("POST", "/v1/responses", json=body, headers=self.keyed)
        if self.id:
            params: dict[str, str | int] = {"stream": "true", "starting_after": self.last}
            request = http.build_request("GET", f"/v1/responses/{self.id}", params=params)
        answer = judged(await http.send(request, stream=True))
        try:
            async for frame in data_of(answer):
                if frame["sequence_number"] <= self.last:
                    detail = f"{frame['sequence_number']} after {self.last}"
                    self.clients.refused.append(f"{self.name}: {detail}")
                self.last = frame["sequence_number"]
                self.id = self.id or frame["response"]["id"]
                if frame["type"] == "response.output_text.delta":
                    self.text += frame["delta"]
                self.terminal = self.ENDS.get(frame["type"], "")
        finally:
            await answer.aclose()


class A2a(Client):
    """Subscribes again, which begins with the task so far; asks for a task that has ended."""

    dialect = "a2a"
    ENDS = {"COMPLETED": "succeeded", "FAILED": "failed", "CANCELED": "cancelled"}

    def __init__(self, order: Order) -> None:
        super().__init__(order)
        self.task = ""

    def begin_again(self) -> None:
        super().begin_again()
        self.task = ""

    async def once(self, http: httpx.AsyncClient) -> None:
        url = f"/a2a/{self.clients.agent}"
        message = {
            "messageId": self.order.key, "role": "ROLE_USER", "parts": [{"text": self.message}],
            "contextId": self.order.thread,
        }  # fmt: skip
        request = http.build_request(
            "POST", f"{url}/message:stream", json={"message": message}, headers=self.keyed
        )
        if self.task:
            request = http.build_request("POST", f"{url}/tasks/{self.task}:subscribe", json={})
        answer = await http.send(request, stream=True)
        try:
            if self.task and answer.is_client_error and answer.status_code not in BUSY:
                self._whole(judged(await http.get(f"{url}/tasks/{self.task}")).json())
                return
            judged(answer)
            async for frame in data_of(answer):
                match frame:
                    case {"task": task}:
                        self._whole(task)
                    case {"artifactUpdate": update}:
                        self.text += "".join(part["text"] for part in update["artifact"]["parts"])
                    case {"statusUpdate": update}:
                        self._status(update["status"])
        finally:
            await answer.aclose()

    def _whole(self, task: Json) -> None:
        self.task = task["id"]
        parts = [part for each in task.get("artifacts", ()) for part in each["parts"]]
        self.text = "".join(part["text"] for part in parts)
        self._status(task["status"])

    def _status(self, status: Json) -> None:
        self.terminal = self.ENDS.get(status["state"].removeprefix(TASK), "")


class Mcp(Client):
    """Calls again under its key: the answer is that of the run that the first call made."""

    dialect = "mcp"

    async def once(self, http: httpx.AsyncClient) -> None:
        meta = {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": {}}
        arguments = {"message": self.message, "thread_id": self.order.thread}
        params = {"_meta": meta, "name": self.clients.agent, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        accept = {"Accept": "application/json, text/event-stream"}
        async with http.stream("POST", "/mcp", json=body, headers=self.keyed | accept) as answer:
            judged(answer)
            if "event-stream" in answer.headers["content-type"]:
                async for frame in data_of(answer):
                    self._take(frame)
            else:
                self._take(json.loads(await answer.aread()))

    def _take(self, frame: Json) -> None:
        if error := frame.get("error"):
            if error["data"]["code"] == "reset":
                raise Refused(410, "reset")
            self.clients.refused.append(f"{self.name}: {error}")
        if result := frame.get("result"):
            texts = [block["text"] for block in result["content"]]
            # An error is the last text; it does not tell a failed run from one that was stopped.
            self.text = "".join(texts[:-1] if result["isError"] else texts)
            self.terminal = ANY if result["isError"] else "succeeded"


class Alpine(Client):
    """Comes back with the id of the last event, which several of its events can share."""

    dialect = "alpine"

    def __init__(self, order: Order) -> None:
        super().__init__(order)
        self.run, self.cursor = "", "0"
        self.pending = ""
        """The text of events after the cursor."""

    def begin_again(self) -> None:
        super().begin_again()
        self.run, self.cursor = "", "0"

    async def once(self, http: httpx.AsyncClient) -> None:
        if not self.run:
            body = {"task": self.message, "agent": self.clients.agent}
            body["thread_id"] = self.order.thread
            started = await http.post("/agents/run", json=body, headers=self.keyed)
            self.run = judged(started).json()["run_id"]
        headers = {"Accept": "text/event-stream", "Last-Event-ID": self.cursor}
        async with http.stream("GET", f"/runs/{self.run}/events", headers=headers) as answer:
            judged(answer)
            self.pending = ""
            async for fields in fields_of(answer):
                self._take(json.loads(fields["data"]))
                if cursor := fields.get("id"):
                    self.text, self.pending, self.cursor = self.text + self.pending, "", cursor

    def _take(self, frame: Json) -> None:
        match frame:
            case {"type": "text_message_content", "content": content}:
                self.pending += content
            case {"type": "run_error", "error": {"code": "reset"}}:
                raise Refused(410, "reset")
            case {"type": "run_error", "error": error}:
                self.terminal = "cancelled" if error.get("code") == "cancelled" else "failed"
            case {"type": "run_finished", "result": {"status": status}}:
                self.terminal = "succeeded" if status == "completed" else status


class ChatCompletions(Client):
    """Posts again under its key, and gets the answer from its beginning."""

    dialect = "chat-completions"

    async def once(self, http: httpx.AsyncClient) -> None:
        body = {
            "model": self.clients.agent, "stream": True, "background": True,
            "messages": [{"role": "user", "content": self.message}],
        }  # fmt: skip
        headers = self.keyed | {"X-Thread-Id": self.order.thread}
        url = "/v1/chat/completions"
        async with http.stream("POST", url, json=body, headers=headers) as answer:
            judged(answer)
            self.text = ""
            async for frame in data_of(answer):
                match frame:
                    case {"error": {"code": "reset"}}:
                        raise Refused(410, "reset")
                    case {"error": _}:
                        self.terminal = "failed"
                    case {"choices": [{"delta": {"content": str(text)}}]}:
                        self.text += text
                    case {"choices": [{"finish_reason": str()}]}:
                        self.terminal = ANY  # It does not tell a run that was stopped.


DIALECTS: list[type[Client]] = [AiSdk, Responses, A2a, Mcp, Alpine, ChatCompletions]
