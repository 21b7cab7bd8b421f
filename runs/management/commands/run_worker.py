"""``manage.py run_worker``: execute runs."""

import asyncio
import faulthandler
import os
import signal
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from agui_host.backends import tracing
from agui_host.backends.postgres.base import serve
from agui_host.runtimes import file_directory, provisioning, registry
from agui_host.security import own_secrets
from agui_project import checks, cli, startup, validators


class Command(BaseCommand):
    """``manage.py run_worker``."""

    help = "Execute runs until SIGTERM, then let running ones finish. Ctrl-C gives them 5 s."
    requires_system_checks = [checks.OWN]  # Django's own would import every page.

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--pulse", type=int, help="the pipe of the supervisor that starts this process"
        )

        parser.add_argument(
            "--queues",
            type=_queues,
            default=settings.AGUI_WORKER_QUEUES,
            help="the queues of agents that it serves, such as default,gpu",
        )

    def handle(self, *args: Any, pulse: int | None = None, **options: Any) -> None:
        from runs.worker.watchdog import Watchdog
        from runs.worker.worker import work

        tracing.begin("worker", cli.version())  # Its headers are a secret.
        own_secrets.forget()
        # A C handler: it writes the stacks even while an agent holds the GIL.
        faulthandler.register(signal.SIGQUIT)
        if pulse is not None:
            os.set_inheritable(pulse, False)
        loop = _new_loop()
        watchdog = Watchdog(loop, pulse)
        watchdog.start()
        serve()
        queues: list[str] = options["queues"]
        startup.announce(
            "worker",
            registry.offered(),
            concurrency=settings.AGUI_WORKER_CONCURRENCY,
            queues=",".join(queues),
        )
        provisioning.bring(queues)
        file_directory.claim()
        # Not asyncio.run, which waits for every task: an agent that swallows its cancellation would
        # keep the process alive. Its run has ended; it must not delay the next start.
        try:
            loop.run_until_complete(work(watchdog, queues))
        finally:
            tracing.close()


def _queues(text: str) -> list[str]:
    try:
        return validators.queues(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
