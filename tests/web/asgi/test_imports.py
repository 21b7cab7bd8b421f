"""What a web process has imported before its first request, which would hold up every stream."""

import subprocess
import sys

CODE = """
import sys
import agui_host.web.asgi
before = set(sys.modules)
from django.urls import get_resolver
get_resolver().reverse_dict
late = {name for name in set(sys.modules) - before if name.partition(".")[0] in %r}
assert not late, late
"""
ROOMS = ("agui_host", "agui_project", "events", "runs")


def test_every_page_is_imported_before_the_first_request() -> None:
    subprocess.run([sys.executable, "-c", CODE % (ROOMS,)], check=True, timeout=120)
