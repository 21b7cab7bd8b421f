"""The available middleware: a new one is a file beside ``log.py`` and a line here."""

from collections.abc import Mapping

from runtimes.middleware.base import Middleware
from runtimes.middleware.citations import Citations
from runtimes.middleware.log import Log
from runtimes.middleware.redact import Redact
from runtimes.middleware.throttle import Throttle

MIDDLEWARE: Mapping[str, type[Middleware]] = {
    "citations": Citations,
    "log": Log,
    "redact": Redact,
    "throttle": Throttle,
}
