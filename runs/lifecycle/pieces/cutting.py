"""Cutting a text where the texts of later turns will be alike: pure functions.

The parts of a text, joined, are the text. Where it is cut only decides how much of it a later text
has in common with it: after whole messages, from the first one on, so that a conversation that
grows keeps its pieces.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from agui_host.protocol.strict_json import dumps

PIECE = 2_048
"""Characters from which a part is stored by itself; what is shorter stays in the text."""


class Part(NamedTuple):
    """A part of a text; ``is_piece``: it is stored by itself."""

    text: str
    is_piece: bool


def of_input(text: str, body: Mapping[str, Any]) -> list[Part]:
    """The parts of an input, which is the text of ``body``."""
    return _checked(text, _members(body))


def of_fold(text: str) -> list[Part]:
    """The parts of what ``Fold.dump`` wrote: lines.

    The first two change with each turn. As pieces, their former forms would stay until a purge.
    """
    run, state, *messages = text.split("\n", 2)
    head = Part("\n".join([run, state, *([""] if messages else [])]), is_piece=False)
    lines = messages[0].split("\n") if messages else []
    return _checked(text, [head, *_gathered(lines, "\n")])


def _checked(text: str, parts: Iterable[Part]) -> list[Part]:
    """The parts, literal ones joined; one part if they are not exactly the text.

    An encoder can write a value in another way when it stands alone: a large number next to an
    unpaired surrogate, for example.
    """
    merged: list[Part] = []
    for part in parts:
        if merged and not part.is_piece and not merged[-1].is_piece:
            merged[-1] = Part(merged[-1].text + part.text, is_piece=False)
        else:
            merged.append(part)
    if "".join(part.text for part in merged) != text:
        return [Part(text, is_piece=False)]
    return merged


def _members(body: Mapping[str, Any]) -> Iterator[Part]:
    opening = "{"
    for name, value in body.items():
        yield Part(f"{opening}{dumps(name)}:", is_piece=False)
        opening = ","
        if isinstance(value, list):
            yield Part("[", is_piece=False)
            yield from _gathered(map(dumps, value), ",")
            yield Part("]", is_piece=False)
        elif isinstance(value, dict):
            yield Part("{", is_piece=False)
            inner = (f"{dumps(key)}:{dumps(its)}" for key, its in value.items())
            yield from _gathered(inner, ",", apart=True)
            yield Part("}", is_piece=False)
        else:
            yield _part(dumps(value))
    yield Part("}" if body else "{}", is_piece=False)


def _gathered(texts: Iterable[str], separator: str, *, apart: bool = False) -> Iterator[Part]:
    """Texts in a row, as few pieces: short ones wait for the texts after them.

    Short messages belong to the message after them, since all of them stay as they are. With
    ``apart`` a long text is a piece without them: an object's short members often change alone.
    """
    waiting: list[str] = []
    size, opening = 0, ""
    for text in texts:
        if apart and waiting and len(text) >= PIECE:
            yield from _row(opening, separator, waiting)
            waiting, size, opening = [], 0, separator
        waiting.append(text)
        size += len(text)
        if size >= PIECE:
            yield from _row(opening, separator, waiting)
            waiting, size, opening = [], 0, separator
    if waiting:
        yield from _row(opening, separator, waiting)


def _row(opening: str, separator: str, texts: list[str]) -> Iterator[Part]:
    yield Part(opening, is_piece=False)
    yield _part(separator.join(texts))


def _part(text: str) -> Part:
    return Part(text, is_piece=len(text) >= PIECE)
