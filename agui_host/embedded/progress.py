"""Shows a waiting person the progress of a start after a while of silence."""

import threading
import time
from collections.abc import Callable

SILENCE = 1.4  # seconds: long enough that two quick steps in a row print nothing


class Progress:
    """Reports the block's steps from a separate thread: ``with Progress(say) as progress``."""

    def __init__(self, say: Callable[[str], object], silence: float = SILENCE) -> None:
        self._say = say
        self._silence = silence
        self._step = self._named = ""
        self._since = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tell, name="progress", daemon=True)

    def step(self, what: str) -> None:
        """Begin another step; it is named only if it, or those before it, take long."""
        self._step, self._since = what, time.monotonic()

    def end(self) -> None:
        """Report nothing more; can be called again."""
        self._over.set()

    def __enter__(self) -> "Progress":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.end()
        self._thread.join()

    def _tell(self) -> None:
        while not self._over.wait(self._silence):
            step, seconds = self._step, time.monotonic() - self._since
            if step:
                self._say(f"{step} …" if step != self._named else f"{step} … {seconds:.0f} s")
            self._named = step
