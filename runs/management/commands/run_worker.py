"""``manage.py run_worker``: execute runs."""

import asyncio
from typing import Any

from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Execute runs until SIGTERM; their ends are stored before the process leaves."

    def handle(self, *args: Any, **options: Any) -> None:
        from runs.worker import work

        # Not asyncio.run, which waits for every task: an agent that swallows its cancellation
        # would keep the process. Its run has ended; it may not hold up the next start.
        _new_loop().run_until_complete(work())


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
