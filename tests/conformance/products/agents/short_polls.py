"""Imported by a host whose clients wait for the end of long-polls, which takes 25 seconds there.

The suite of Durable Streams does so twice. ``tests/dialects/durable_streams`` has the host's own
tests of the wait.
"""

from agui_host.dialects.durable_streams import endpoints

endpoints.LONG_POLL_SECONDS = 5.0
