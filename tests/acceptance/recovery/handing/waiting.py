"""Agents that count until a file is there, with a grace of each kind."""

from agui_host import agent
from tests.acceptance.recovery.handing.gated import counted

agent("handed-over-at-once", recovery="continue")(counted)
agent("handed-over-later", recovery="continue", worker_grace=4)(counted)
agent("ended-soon", worker_grace=2)(counted)
agent("as-long-as-the-worker")(counted)
agent("longer-than-the-worker", worker_grace=86_400)(counted)
