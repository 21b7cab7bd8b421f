"""Links that had no seat left a moment ago: who asks again is refused before anything is looked up.

To find out who is let in by a link, and to what, takes several queries. Strangers who come again
and again made a web process so busy with them that other streams' events came late.
"""

import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from agui_host.security.requester import ADDRESS, network_of
from agui_host.teams.limits import LimitReached

RELIED_ON = 1.0
"""Seconds: a visitor who asks later than that finds a seat that has become free."""
MOST = 1_000

Visit = tuple[str, str]
"""A link's token and the visitor's network."""


class FullLinks:
    """The newest refusals, by visit."""

    def __init__(self) -> None:
        self._refusals: OrderedDict[Visit, tuple[float, LimitReached]] = OrderedDict()

    @contextmanager
    def remembered(self, token: str) -> Iterator[None]:
        """Raise LimitReached as the last visit did, if that was just now; else note its outcome.

        A link that has since been revoked is still called full, which reveals nothing new.
        """
        visit = token, network_of(ADDRESS.get())
        at, refusal = self._refusals.get(visit, (float("-inf"), None))
        if refusal is not None and time.monotonic() - at < RELIED_ON:
            raise LimitReached(str(refusal), details=refusal.details, headers=refusal.headers)
        try:
            yield
        except LimitReached as error:
            self._refusals[visit] = time.monotonic(), error.with_traceback(None)
            self._refusals.move_to_end(visit)
            while len(self._refusals) > MOST:
                self._refusals.popitem(last=False)
            raise


full_links = FullLinks()
