"""Imports of a web process before its first request, and of a worker before its first run.

A late one would hold up every stream; each takes memory.
"""

import subprocess
import sys

CODE = """
import gc, sys
import agui_host.web.asgi
assert gc.isenabled(), "it only pauses for the imports"
assert gc.get_freeze_count() > 100_000
assert "daphne" not in sys.modules, "with it comes Twisted: half a second"
before = set(sys.modules)
from django.urls import get_resolver
get_resolver().reverse_dict
late = {name for name in set(sys.modules) - before if name.partition(".")[0] in %r}
assert not late, late
"""
WORKER = """
import sys, django
django.setup()
from django.core import checks
from runs.management.commands.run_worker import Command
from runs.worker import worker
assert checks.run_checks(tags=Command.requires_system_checks) == []
pages = {"agui_project.urls", "agui_host.dashboard.views", "rest_framework.views"}
assert not pages & set(sys.modules)
"""
ROOMS = ("agui_host", "agui_project", "events", "runs")


def test_every_page_is_imported_before_the_first_request() -> None:
    subprocess.run([sys.executable, "-c", CODE % (ROOMS,)], check=True, timeout=120)


def test_runserver_has_the_server_that_it_needs() -> None:
    code = "import sys; sys.argv[1:] = [%r]; from agui_project.settings import INSTALLED_APPS as a"
    for command, first in (("runserver", True), ("run_worker", False)):
        check = f"{code % command}; assert ('daphne' in a) is {first}"
        subprocess.run([sys.executable, "-c", check], check=True, timeout=120)


def test_a_worker_imports_no_page() -> None:
    subprocess.run([sys.executable, "-c", WORKER], check=True, timeout=120)
