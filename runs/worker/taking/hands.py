"""Runs that web processes of this machine hand to this worker (docs/adr/0020-the-handed-start.md).

A handed run is this worker's in the database before its line is sent. So a line can be lost or
dropped at any place: the worker's next search finds a run that is not executed here, and puts it
back. What must not happen is that a run is put back and then begins here by a late line.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID, uuid4

import structlog

from agui_host.backends.apart import SMALL
from runs.lifecycle.handover import handed, links
from runs.lifecycle.handover.handed import Handed

log = structlog.get_logger(__name__)
MOST = 2
"""Credits of a link. A hand saves time and a take processor: it begins several runs at once, whose
events then share commits. So what comes faster than the worker reads hands goes by the queue."""
REMEMBERED = 1_000
"""Runs that were put back and could still come by a late line. Above it all links are cut, after
which no line of before can come."""


class Hands:
    """The socket, the links and the credits of one worker. For its event loop."""

    def __init__(
        self,
        begin: Callable[[Handed], object],
        *,
        may_begin: Callable[[UUID], bool],
        missed: Callable[[], object],
        pause: Callable[[], float],
    ) -> None:
        """``begin`` is called with each run that is to begin, if ``may_begin`` allows it.

        ``missed`` is called when a run may be this worker's without being here; ``pause`` is the
        time between two credits, in seconds.
        """
        self._begin, self._may_begin, self._missed, self._pause = begin, may_begin, missed, pause
        self.link = uuid4()
        """Its id, by which starts name this worker."""
        self._path: Path | None = None
        self._server: asyncio.Server | None = None
        self._links: set[asyncio.StreamWriter] = set()
        self._searching, self._is_sure = False, True
        self._waiting: list[Handed] = []
        self._put_back: set[UUID] = set()
        self._next_credit = 0.0

    async def open(self) -> None:
        """Serve the socket, and give credits to each web process that connects."""
        if (where := links.folder()) is None:
            log.info("worker.without_links", reason="the path of AGUI_DATA_DIR is too long")
            return
        try:
            where.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path = where / f"{self.link}{links.SUFFIX}"
            new = where / f"{self.link}.new"
            self._server = await asyncio.start_unix_server(self._serve, new, limit=4 * SMALL)
            new.rename(self._path)  # Under this name a socket is there only while it answers.
        except OSError as error:  # Runs come by the queue.
            log.warning("worker.without_links", reason=repr(error))

    def close(self) -> None:
        """Take no more hands."""
        if self._server is not None:
            self._server.close()
            self._server = None
        if self._path is not None:
            self._path.unlink(missing_ok=True)
        self._cut()

    @contextmanager
    def searching(self) -> Iterator[Callable[[UUID], object]]:
        """Around a search for runs that are not here; call what it gives with each it puts back.

        Meanwhile hands wait, as the search can put back the run of a line that has just come. If
        its answer is lost, the runs are unknown, and it can take effect later: all links are cut,
        so that no line of before is read, and there are none until a later search is answered.
        """
        self._searching = True
        try:
            yield self._put_back.add
            self._is_sure = True
        except BaseException:
            self._is_sure = False
            self._waiting.clear()
            self._cut()
            raise
        finally:
            self._searching = False
            waiting, self._waiting = self._waiting, []
            for each in waiting:
                self._receive(each)
        if len(self._put_back) > REMEMBERED:
            self._cut()

    def _cut(self) -> None:
        for writer in self._links:
            writer.transport.abort()
        self._links.clear()
        self._put_back.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._server is None or not self._is_sure:
            writer.close()
            return
        self._links.add(writer)
        try:
            writer.write(b"\n" * MOST)
            while text := await reader.readline():
                if writer not in self._links:
                    break  # It was cut; this line came before.
                self._receive(handed.read(text))
                self._give(writer)
        except (OSError, ValueError) as error:
            log.info("worker.link_broken", error=repr(error))
        finally:
            self._links.discard(writer)
            writer.close()
            self._missed()  # A start may have been committed whose line was never sent.

    def _receive(self, run: Handed) -> None:
        if self._searching:
            self._waiting.append(run)
        elif run.run in self._put_back or not self._may_begin(run.run):
            self._missed()
        else:
            self._begin(run)

    def _give(self, writer: asyncio.StreamWriter) -> None:
        """Replace a credit that was used, but not sooner than ``pause`` after the last."""
        now, pause = time.monotonic(), self._pause()
        self._next_credit = max(self._next_credit, now) + pause if pause else now
        asyncio.get_running_loop().call_later(self._next_credit - now, self._write, writer)

    def _write(self, writer: asyncio.StreamWriter) -> None:
        if writer in self._links:
            writer.write(b"\n")
