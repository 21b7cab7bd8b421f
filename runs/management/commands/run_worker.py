"""``manage.py run_worker``: execute runs."""

import asyncio
import contextlib
from typing import Any

from django.core.management.base import BaseCommand

with contextlib.suppress(ImportError):
    import uvloop


class Command(BaseCommand):
    help = "Execute runs until SIGTERM; their ends are stored before the process leaves."

    def handle(self, *args: Any, **options: Any) -> None:
        from runs.worker import work

        factory = uvloop.new_event_loop if "uvloop" in globals() else None
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(work())
