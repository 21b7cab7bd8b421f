"""A run is a test: plays an agent on an input or an archive, without a server (howto-test-agents).

``run`` plays an agent once, through the same intake as a worker, and returns what readers would
get. ``replay`` plays it on the input of an archive and compares the logs. As a pytest plug-in
(``pytest_plugins = ["agui_host.testing"]``) it gives tests the fixtures ``run_agent`` and
``replay_archive``. No model, database or settings are needed, unless the agent uses them.
"""

from agui_host.testing.play import Played, run
from agui_host.testing.replay import Divergence, Replayed, compare, replay

try:
    from agui_host.testing.plugin import replay_archive, run_agent
except ModuleNotFoundError as error:  # `agui-host replay` works without pytest, which is an extra.
    if error.name != "pytest":
        raise

__all__ = [
    "Divergence",
    "Played",
    "Replayed",
    "compare",
    "replay",
    "replay_archive",
    "run",
    "run_agent",
]
