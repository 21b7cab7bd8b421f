"""Tells people of new questions and notices, in browsers and by mail: a loop in each worker.

What a message says is bounded, and its reader may see: each person hears of the questions that they
may answer when it is sent, all new ones in one message; owners and admins also of budgets.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from email.utils import parseaddr
from uuid import UUID

import httpx
import structlog
from django.conf import settings
from django.core.mail import get_connection
from django.db import InterfaceError, OperationalError

from agui_host.backends.postgres import scope
from agui_host.backends.postgres.bridge import db
from agui_host.protocol.strict_json import dumps
from agui_host.security import outbound, web_push
from agui_host.security.addresses import AddressRefused
from agui_host.security.secrets import SecretUnreadable, unseal
from agui_host.teams.models import Team
from runs.access.notices import mail, news, push, questions
from runs.access.notices.news import Words
from runs.access.notices.push import Address
from runs.models import Interrupt, Notice, PushSubscription

log = structlog.get_logger(__name__)
POLL = 2.0
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


@dataclass(slots=True)
class News:
    """The news of a team."""

    asked: list[Interrupt] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)

    @property
    def team(self) -> Team:
        return (self.asked or self.notices)[0].team


class Pusher:
    """Takes new questions and notices, and sends them to the people whom they concern."""

    def __init__(self) -> None:
        self._client = outbound.client(timeout=TIMEOUT, max_connections=AT_ONCE)
        self._busy: dict[asyncio.Task[None], UUID] = {}

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
        by_team: dict[UUID, News] = defaultdict(News)
        busy = list(self._busy.values())
        for question in await db(questions.take, busy):
            by_team[question.team_id].asked.append(question)
        for notice in await db(news.take, busy):
            by_team[notice.team_id].notices.append(notice)
        tasks = []
        for team, new in by_team.items():
            task = asyncio.create_task(self._tell_team(new), name="push")
            self._busy[task] = team
            task.add_done_callback(self._done)
            tasks.append(task)
        return tasks

    def _done(self, task: asyncio.Task[None]) -> None:
        self._busy.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("push.failed", error=repr(error))

    async def _tell_team(self, new: News) -> None:
        scope.take_turns_as(f"team:{new.team.pk}")
        await self._mail(new)
        room = asyncio.Semaphore(PER_TEAM)
        messages = await db(_messages, new)
        await asyncio.gather(*(self._send(row, text, room) for row, text in messages))

    async def _mail(self, new: News) -> None:
        mails = await db(mail.written, new.team, new.asked) if new.asked else []
        mails += await db(news.written, new.team, new.notices)
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


def _messages(new: News) -> list[tuple[PushSubscription, bytes]]:
    """The messages for the team's browsers: of the questions and notices that concern each."""
    team, messages = new.team, list[tuple[PushSubscription, bytes]]()
    for row in push.browsers(team):
        if new.asked and (asked := push.those_for(team, row, new.asked)):
            messages.append((row, message(asked)))
        messages += [
            (row, notice_message(words)) for words in news.for_browser(team, row, new.notices)
        ]
    return messages


def notice_message(words: Words) -> bytes:
    """The notification of a notice, as the service worker shows it."""
    title, _, _ = words.text.partition(" (")
    content = {"title": title, "body": words.text, "tag": words.text, "url": words.page}
    return dumps(content).encode("utf-8", "backslashreplace")


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
    content = {"title": title, "body": body, "tag": tag, "url": target}
    # Half of a character, which stored JSON may contain, becomes an escape of JSON again.
    return dumps(content).encode("utf-8", "backslashreplace")
