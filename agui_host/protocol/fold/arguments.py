"""Arguments: how far the text of one tool call has come, without keeping it."""

import re
from typing import NamedTuple

_ESCAPED = re.compile(r"\\.", re.DOTALL)
_BLANK = " \t\r\n"


class Arguments(NamedTuple):
    """A call of a run's log: its name, and where in the JSON of its arguments the text stops.

    ``depth`` counts the open brackets outside of strings. ``is_restated``: it came in a snapshot.
    """

    name: str = ""
    is_open: bool = True
    is_answered: bool = False
    is_restated: bool = False
    depth: int = 0
    in_string: bool = False
    is_escaped: bool = False
    has_begun: bool = False

    @property
    def are_complete(self) -> bool:
        """Whether the text is a whole JSON value, so that no more of it can follow."""
        return self.has_begun and self.depth <= 0 and not self.in_string

    def is_other(self, name: str) -> bool:
        """Whether a START with this name begins another call than this one."""
        if self.name != name or self.is_restated:
            return self.name != name
        return self.is_answered or self.are_complete

    def read(self, text: str) -> "Arguments":
        """The same after a piece of text; takes time linear in its length."""
        if not text:
            return self
        rest = text[1:] if self.is_escaped else text
        is_escaped = False
        if "\\" in rest:
            rest = _ESCAPED.sub("", rest)
            if is_escaped := rest.endswith("\\"):
                rest = rest[:-1]
        pieces = rest.split('"')
        outside = "".join(pieces[1 if self.in_string else 0 :: 2])
        opened = outside.count("{") + outside.count("[")
        closed = outside.count("}") + outside.count("]")
        return self._replace(
            depth=self.depth + opened - closed,
            in_string=self.in_string ^ (len(pieces) % 2 == 0),
            is_escaped=is_escaped,
            has_begun=self.has_begun or bool(text.strip(_BLANK)),
        )


BEGUN = Arguments()


def squeezed(text: str) -> str:
    """JSON text without blanks, also those in its strings: enough to tell two texts apart."""
    return text.translate(_NO_BLANKS)


_NO_BLANKS = dict.fromkeys(map(ord, _BLANK))
