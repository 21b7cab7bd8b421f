"""The Python client of AG-UI servers: talk to an agent, resume a conversation, serve an agent.

``AGUIClient`` (asyncio) and ``SyncAGUIClient`` speak to any AG-UI server; with the run host they
also survive restarts and broken networks, without losing or doubling an event. ``HostClient``
drives any number of runs of the run host over one socket, and ``Cursors`` keeps its place over
restarts of the program. ``AGUIEventEmitter`` and ``AGUIServer`` are for the other side;
``Producer`` feeds a run that its own program executes. Nothing here needs Django.
"""

from agui_client.client import AGUIClient
from agui_client.cursors import Cursors
from agui_client.emitter import AGUIEventEmitter
from agui_client.errors import AGUIError, ConnectionLost, Refused, Reset, RunFailed, Untrusted
from agui_client.host import HostClient
from agui_client.producer import Producer
from agui_client.server import AGUIServer
from agui_client.sync import SyncAGUIClient

__version__ = "0.1.0"

__all__ = [
    "AGUIClient",
    "AGUIError",
    "AGUIEventEmitter",
    "AGUIServer",
    "ConnectionLost",
    "Cursors",
    "HostClient",
    "Producer",
    "Refused",
    "Reset",
    "RunFailed",
    "SyncAGUIClient",
    "Untrusted",
    "__version__",
]
