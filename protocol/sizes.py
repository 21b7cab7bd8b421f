"""The largest size of one event: stock clients refuse frames of 10 MiB and more."""

MAX_EVENT_BYTES = 10 * 1024 * 1024
FRAMING = 64
"""Room for ``id:`` and ``data:``: a client's limit counts them too."""
