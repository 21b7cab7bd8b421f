"""Tells people of new questions, mentions, shares and warnings: a loop next to a worker's jobs.

What a message says is bounded, and its reader may see: each person hears of the questions that they
may answer when it is sent, all new ones in one message; owners and admins also of budgets.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Coroutine, Mapping, Sequence
from email.utils import parseaddr
from typing import Any
from uuid import UUID

import httpx
import structlog
from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.db import InterfaceError, OperationalError

from agui_host.backends.postgres import scope
from agui_host.backends.postgres.bridge import db
from agui_host.protocol.strict_json import dumps
from agui_host.security import outbound, web_push
from agui_host.security.addresses import AddressRefused
from agui_host.security.secrets import SecretUnreadable, unseal
from runs.access.notices import digest, mail, news, push, questions, warnings
from runs.access.notices.news import News
from runs.access.notices.push import Address
from runs.access.notices.warnings import Words
from runs.models import Interrupt, Notice, PushSubscription

log = structlog.get_logger(__name__)
POLL = 2.0
EVERY = 60.0
"""Seconds between two looks for daily mails that are due."""
TEAMS = 20
PER_TEAM = 4
AT_ONCE = TEAMS * PER_TEAM
"""Calls of all teams; a team whose push service is silent holds up no other."""
TIMEOUT = 10.0
GONE = (404, 410)
"""A push service answers so for a subscription that has ended."""
SHOWN = 160
"""Characters of a question in a message."""
LIFETIME = 4 * 3600
"""Seconds for which a push service keeps a message for a browser that is away."""


class Pusher:
    """Takes new questions, and sends them to the browsers of people who may answer them."""

    def __init__(self) -> None:
        self._client = outbound.client(timeout=TIMEOUT, max_connections=AT_ONCE)
        self._busy: dict[asyncio.Task[None], UUID] = {}
        self._daily_at = 0.0

    async def run(self) -> None:
        """Send until cancelled."""
        try:
            while True:
                try:
                    await self.tell()
                except (OperationalError, InterfaceError):
                    pass  # The database is away, which others report; try again soon.
                except Exception:
                    log.exception("push.failed")
                await asyncio.sleep(POLL)
        finally:
            await self.close()

    async def close(self) -> None:
        """Stop sending."""
        for task in self._busy:
            task.cancel()
        await asyncio.gather(*self._busy, return_exceptions=True)
        await self._client.aclose()

    async def tell(self) -> list[asyncio.Task[None]]:
        """Begin to send what is new; each team's messages are a task, which holds up no other."""
        if len(self._busy) >= TEAMS:
            return []
        await self._mail_daily()
        busy = list(self._busy.values())
        asked: dict[UUID, list[Interrupt]] = defaultdict(list)
        for question in await db(questions.take, busy):
            asked[question.team_id].append(question)
        by_receiver: dict[UUID, list[News]] = defaultdict(list)
        for entry in await db(news.take, busy):
            by_receiver[entry.team.pk].append(entry)
        warned: dict[UUID, list[Notice]] = defaultdict(list)
        for notice in await db(warnings.take, busy):
            warned[notice.team_id].append(notice)
        return [
            *(self._begin(team, self._tell_team(rows)) for team, rows in asked.items()),
            *(self._begin(team, self._tell_news(team, rows)) for team, rows in by_receiver.items()),
            *(self._begin(team, self._warn(rows)) for team, rows in warned.items()),
        ]

    def _begin(self, team: UUID, telling: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(telling, name="push")
        self._busy[task] = team
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._busy.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("push.failed", error=repr(error))

    async def _tell_team(self, rows: Sequence[Interrupt]) -> None:
        scope.take_turns_as(f"team:{rows[0].team_id}")
        await self._mail(rows)
        await self._send_all(await db(_messages, rows))

    async def _tell_news(self, team: UUID, rows: Sequence[News]) -> None:
        scope.take_turns_as(f"team:{team}")
        contents = await db(news.for_browsers, rows)
        await self._send_all([(row, _packed(content)) for row, content in contents])

    async def _warn(self, rows: Sequence[Notice]) -> None:
        team = rows[0].team
        scope.take_turns_as(f"team:{team.pk}")
        await self._post_mails(await db(warnings.written, team, rows))
        await self._send_all(await db(_warnings, rows))

    async def _send_all(self, messages: Sequence[tuple[PushSubscription, bytes]]) -> None:
        room = asyncio.Semaphore(PER_TEAM)
        await asyncio.gather(*(self._send(row, text, room) for row, text in messages))

    async def _mail(self, rows: Sequence[Interrupt]) -> None:
        await self._post_mails(await db(mail.written, rows[0].team, rows))

    async def _mail_daily(self) -> None:
        if time.monotonic() >= self._daily_at:
            self._daily_at = time.monotonic() + EVERY
            await self._post_mails(await db(digest.written))

    async def _post_mails(self, mails: Sequence[EmailMessage]) -> None:
        try:
            if mails:
                # Not in a thread of the database's: a mail server can be slow.
                await asyncio.to_thread(get_connection().send_messages, mails)
        except OSError as error:  # SMTPException is one.
            log.warning("mail.lost", error=repr(error), subject=mails[0].subject)

    async def _send(self, row: PushSubscription, text: bytes, room: asyncio.Semaphore) -> None:
        async with room:
            try:
                private = unseal((await db(push.sender_key)).private)
                address = push.address_of(row)
                status = await self._post(private, address, text)
            except (SecretUnreadable, AddressRefused, httpx.HTTPError, httpx.InvalidURL,
                    TimeoutError, ValueError) as error:  # fmt: skip
                log.warning("push.not_sent", browser=str(row.pk), error=type(error).__name__)
                return
        if status in GONE:
            await db(push.forget, row)
        elif status >= 300:
            log.warning("push.not_sent", browser=str(row.pk), error=f"status {status}")

    async def _post(self, private: str, address: Address, text: bytes) -> int:
        contact = f"mailto:{parseaddr(settings.DEFAULT_FROM_EMAIL)[1]}"
        headers = {
            "Authorization": web_push.proof(private, address.endpoint, contact),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(LIFETIME),
            "Urgency": "high",
        }
        body = web_push.encrypted(text, address.keys)
        # Only the status counts; a long answer is not read.
        async with (
            asyncio.timeout(TIMEOUT),
            self._client.stream(
                "POST", address.endpoint, content=body, headers=headers
            ) as response,
        ):
            return response.status_code


def _messages(rows: Sequence[Interrupt]) -> list[tuple[PushSubscription, bytes]]:
    """A message for each browser of the team whose person may answer any of these questions."""
    team = rows[0].team
    theirs = ((row, push.those_for(team, row, rows)) for row in push.browsers(team))
    return [(row, message(asked)) for row, asked in theirs if asked]


def _warnings(rows: Sequence[Notice]) -> list[tuple[PushSubscription, bytes]]:
    """A message for each browser of the team and each notice that concerns its person."""
    team = rows[0].team
    return [
        (row, warning(words))
        for row in push.browsers(team)
        for words in warnings.for_browser(team, row, rows)
    ]


def warning(words: Words) -> bytes:
    """The notification of a notice, as the service worker shows it."""
    title, _, _ = words.text.partition(" (")
    return _packed({"title": title, "body": words.text, "tag": words.text, "url": words.page})


def message(asked: Sequence[Interrupt]) -> bytes:
    """What the service worker shows (``static/js/service-worker.mjs``)."""
    first = asked[0]
    if len(asked) == 1:
        title = f"{first.run.agent.slug} asks"
        target, tag = f"/runs/{first.run_id}/", str(first.pk)
    else:
        title, target, tag = f"{len(asked)} new questions", "/inbox/", "inbox"
    text = " ".join((first.message or first.reason)[: 4 * SHOWN].split())
    body = text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
    return _packed({"title": title, "body": body, "tag": tag, "url": target})


def _packed(content: Mapping[str, str]) -> bytes:
    # Half of a character, which stored JSON may contain, becomes an escape of JSON again.
    return dumps(content).encode("utf-8", "backslashreplace")
