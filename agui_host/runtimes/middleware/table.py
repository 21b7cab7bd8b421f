"""The available middleware: built-in ones (a file and a line here) and plug-ins."""

from agui_host.runtimes.middleware.base import Middleware
from agui_host.runtimes.middleware.citations import Citations
from agui_host.runtimes.middleware.log import Log
from agui_host.runtimes.middleware.redact import Redact
from agui_host.runtimes.middleware.throttle import Throttle
from agui_host.runtimes.plugins import added

BUILT_IN: dict[str, type[Middleware]] = {
    "citations": Citations,
    "log": Log,
    "redact": Redact,
    "throttle": Throttle,
}
MIDDLEWARE = added(BUILT_IN, "agui_host.middleware", Middleware)
