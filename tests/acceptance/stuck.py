"""An agent that never gives the interpreter back: no other thread of its worker runs again."""

import re

from agui_host import RunContext, agent


@agent("stuck", description="Holds the GIL for ever.")
def stuck(ctx: RunContext) -> None:
    re.match(r"(a|aa)+$", "a" * 200 + "!")
