"""Options that mean yes or no, in questions whose answer is one of several words.

``{"enum": ["approve", "deny"]}``, ``oneOf`` with ``const`` and ``title``, and ACP's ``allow_once``
and ``reject_once`` are such options. An option that allows more than the action itself, like
``always``, is never the yes.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agui_host.protocol.questions.decision import NO, YES
from agui_host.protocol.questions.parts import Option, Part, Schema

APPROVE, REJECT, EDIT = "approve", "reject", "edit"
EDITS = frozenset({"edit", "edited", "modify", "change", "changes"})
LEAVES = frozenset({"cancel", "abort", "stop", "skip"})
"""Words that are a no only if no other option is one."""
MORE = frozenset({"all", "always", "any", "every", "everything", "forever", "permanently"} | {
    "session", "rest", "future",
})  # fmt: skip
"""Words of an option that decides about other actions as well."""
LONGEST = 100
"""Characters of an option that is read for its meaning; a longer one has none."""
WORDS = ("boolean", "string", "null")
"""The types of an answer that is a boolean or a text, as AG2 takes it."""
_SPOKEN = re.compile(r"\s*(yes|no|ok)\s*[,.;:!]", re.IGNORECASE)
_PIECES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")

Values = Mapping[str, Any]


def values_of(part: Part) -> Values:
    """The values of a part that mean ``approve``, ``reject`` and ``edit``, if it has them."""
    if part.kind == "enum":
        return {key: part.options[n].value for key, n in meanings_of(part.options).items()}
    if part.kind == "boolean" or is_boolean_or_text(part.schema):
        return {APPROVE: True, REJECT: False}
    return {}


def is_boolean_or_text(schema: Schema) -> bool:
    """Whether an answer may be a boolean or any text: in ``type``, ``anyOf`` or ``oneOf``."""
    kinds = schema.get("type")
    if kinds is None:
        choices = schema.get("anyOf") or schema.get("oneOf")
        kinds = [_type(each) for each in choices] if isinstance(choices, list) else []
    is_list = isinstance(kinds, list)
    return is_list and "boolean" in kinds and all(kind in WORDS for kind in kinds)


def meanings_of(options: Sequence[Option]) -> dict[str, int]:
    """Of each meaning the number of the plainest option; left out if two are as plain."""
    plainest = {}
    for meaning in (APPROVE, REJECT, EDIT):
        fits = [n for n, option in enumerate(options) if _meaning(option) == meaning]
        for is_plain in _PLAINNESS:
            if plain := [n for n in fits if is_plain(options[n])]:
                if len(plain) == 1 or is_plain is _is_word:
                    plainest[meaning] = plain[0]
                break
    return plainest


def is_no(value: Any) -> bool:
    """Whether a value means what ``reject`` does."""
    return value is False or (isinstance(value, str) and _meaning(Option(value, "")) == REJECT)


def _type(choice: Any) -> Any:
    """The type of one of several schemas; a value that is fixed counts as a text."""
    choice = choice if isinstance(choice, dict) else {}
    return "string" if {"const", "enum"} & choice.keys() else choice.get("type")


def _meaning(option: Option) -> str:
    """By the value, else by its title."""
    if isinstance(option.value, bool):
        return APPROVE if option.value else REJECT
    return next(filter(None, map(_read, _texts(option))), "")


def _read(text: str) -> str:
    """``approve``, ``reject`` or ``edit``; empty for another text, and for a wider permission."""
    spoken = _SPOKEN.match(text)
    pieces = _pieces(text)
    if not pieces or MORE & set(pieces[1:]):
        return ""
    first = spoken[1].lower() if spoken else pieces[0]
    if len(pieces) > 1 and not spoken and first in ("yes", "no", "ok", "y", "n"):
        return ""  # Such as "no_preference".
    if first in YES:
        return EDIT if EDITS & set(pieces) else APPROVE
    return REJECT if first in NO else EDIT if first in EDITS else ""


def _texts(option: Option) -> list[str]:
    texts = [text for text in (option.value, option.label) if isinstance(text, str)]
    return [text for text in texts if len(text) <= LONGEST]


def _pieces(text: str) -> list[str]:
    return [piece.lower() for piece in _PIECES.findall(text)]


def _is_word(option: Option) -> bool:
    """One word alone, that does not merely leave the question."""
    return isinstance(option.value, bool) or any(
        len(pieces) == 1 and pieces[0] not in LEAVES for pieces in map(_pieces, _texts(option))
    )


def _is_once(option: Option) -> bool:
    return any("once" in _pieces(text) for text in _texts(option))


def _is_not_leaving(option: Option) -> bool:
    return not any(LEAVES & set(_pieces(text)) for text in _texts(option))


def _is_any(option: Option) -> bool:
    return True


_PLAINNESS: tuple[Callable[[Option], bool], ...] = (_is_word, _is_once, _is_not_leaving, _is_any)
