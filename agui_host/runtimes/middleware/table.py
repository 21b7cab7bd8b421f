"""The available middleware: a new one is a file beside ``log.py`` and a line here."""

from collections.abc import Mapping

from agui_host.runtimes.middleware.base import Middleware
from agui_host.runtimes.middleware.citations import Citations
from agui_host.runtimes.middleware.log import Log
from agui_host.runtimes.middleware.redact import Redact
from agui_host.runtimes.middleware.throttle import Throttle

MIDDLEWARE: Mapping[str, type[Middleware]] = {
    "citations": Citations,
    "log": Log,
    "redact": Redact,
    "throttle": Throttle,
}
