"""Response schemas: the JSON Schema that the answer to a question must match, and the check.

The schema comes from an agent and the answer from a client, so both are bounded before a validator
sees them: patterns match in linear time (no lookaround, no back references), a ``$ref`` leads into
the same document and never back to its origin, and the work is estimated and limited.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from jsonschema_rs import ReferencingError, RegexOptions, ValidationError, Validator, validator_for

from agui_host.protocol.pointer import steps

MAX_BYTES = 64 * 1024
"""Characters of a schema's strings, and of the strings of an answer that patterns read."""
MAX_OF_A_RUN = 4 * MAX_BYTES
"""Characters of the schemas of all questions that one run ends with."""
MAX_NODES = 5_000
"""Values in a schema, each counted wherever a ``$ref`` leads to it."""
MAX_DEPTH = 60
MAX_PATTERNS = 20
MAX_WORK = 2_000_000
"""Values of a schema times values of an answer: well below half a second."""
MANY_WORK = 50_000
"""Above this only one problem is reported: the library collects all before it yields the first."""
MOST = 5
LONGEST = 300

_PATTERNS = RegexOptions(size_limit=2 * 1024 * 1024)
_FAR = ("$dynamicRef", "$recursiveRef")


class Unusable(ValueError):
    """The host cannot check answers against this schema; the message is the reason."""


class Weight(NamedTuple):
    """The cost of a schema: ``nodes`` with every ``$ref`` followed, and their greatest depth."""

    nodes: int
    depth: int


class Size(NamedTuple):
    """Values in a JSON document, and characters in its strings and keys."""

    nodes: int
    characters: int


class ResponseSchema:
    """A schema that can be checked in bounded time. Raises Unusable."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._nodes, self._has_patterns = _weighed(schema)
        self._validator = _built(schema)

    def problems(self, value: Any) -> list[dict[str, str]]:
        """Up to five ``{"path", "message"}``, which never repeat the value; none if it fits."""
        size = size_of(value)
        work = self._nodes * size.nodes
        too_long = self._has_patterns and size.characters > MAX_BYTES
        if work > MAX_WORK or too_long:
            return [{"path": "$", "message": "the value is too large to be checked"}]
        if self._validator.is_valid(value):
            return []
        if work > MANY_WORK:
            try:
                self._validator.validate(value)
            except ValidationError as error:
                return [_problem(error)]
        errors = self._validator.iter_errors(value)
        return [_problem(error) for error, _ in zip(errors, range(MOST), strict=False)]


def usable(outcome: Any, refused: Callable[[int, str], None]) -> Any:
    """The outcome of a RUN_FINISHED without the schemas that the host cannot check.

    Calls ``refused`` with the number of each question that loses its schema, and the reason; it can
    raise.
    """
    interrupts = outcome.get("interrupts") if isinstance(outcome, dict) else None
    if not interrupts:
        return outcome
    return {**outcome, "interrupts": list(_usable(interrupts, refused))}


def _usable(
    interrupts: list[dict[str, Any]], refused: Callable[[int, str], None]
) -> Iterator[dict[str, Any]]:
    room = MAX_OF_A_RUN
    for number, interrupt in enumerate(interrupts):
        if (schema := interrupt.get("responseSchema")) is not None:
            try:
                room -= size_of(schema).characters
                if room < 0:
                    raise Unusable(f"the schemas have more than {MAX_OF_A_RUN:,} characters")
                ResponseSchema(schema)
            except Unusable as reason:
                refused(number, str(reason))
                interrupt = {k: v for k, v in interrupt.items() if k != "responseSchema"}
        yield interrupt


def size_of(value: Any) -> Size:
    """The size of a JSON value, without recursion."""
    nodes = characters = 0
    waiting = [value]
    while waiting:
        part = waiting.pop()
        nodes += 1
        if part.__class__ is str:
            characters += len(part)
        elif part.__class__ is dict:
            characters += sum(map(len, part))
            waiting.extend(part.values())
        elif part.__class__ is list:
            waiting.extend(part)
    return Size(nodes, characters)


def _weighed(schema: Mapping[str, Any]) -> tuple[int, bool]:
    if size_of(schema).characters > MAX_BYTES:
        raise Unusable(f"it has more than {MAX_BYTES:,} characters")
    scale = _Scale(schema)
    nodes = scale.weigh(schema, 0).nodes
    if nodes > MAX_NODES:
        raise Unusable(f"it expands to more than {MAX_NODES:,} values")
    if scale.patterns > MAX_PATTERNS:
        raise Unusable(f"it has more than {MAX_PATTERNS} patterns")
    return nodes, scale.patterns > 0


class _Scale:
    """Weighs each part of one schema once."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.patterns = 0
        self._root = root
        self._bases = ["$id", *(["id"] if "draft-04" in str(root.get("$schema")) else [])]
        self._known: dict[int, Weight | None] = {}

    def weigh(self, part: Any, level: int) -> Weight:
        if part.__class__ is not dict and part.__class__ is not list:
            return Weight(1, 1)
        if id(part) in self._known:
            if (known := self._known[id(part)]) is None:
                raise Unusable("it refers to itself")
            return known
        if level > MAX_DEPTH:
            raise Unusable(f"it is nested deeper than {MAX_DEPTH} levels")
        # A part that is being weighed: reaching it again means a cycle.
        self._known[id(part)] = None
        below = [self.weigh(each, level + 1) for each in self._parts(part, level)]
        depth = 1 + max((each.depth for each in below), default=0)
        if depth > MAX_DEPTH:
            raise Unusable(f"it is nested deeper than {MAX_DEPTH} levels")
        weight = self._known[id(part)] = Weight(1 + sum(each.nodes for each in below), depth)
        return weight

    def _parts(self, part: Any, level: int) -> Iterator[Any]:
        if part.__class__ is list:
            yield from part
            return
        yield from part.values()
        if any(isinstance(part.get(name), str) for name in _FAR):
            raise Unusable("$ref is the only kind of reference allowed")
        if level and any(isinstance(part.get(name), str) for name in self._bases):
            raise Unusable("only the schema itself may have an $id")
        if isinstance(part.get("pattern"), str):
            self.patterns += 1
        if isinstance(part.get("patternProperties"), dict):
            self.patterns += len(part["patternProperties"])
        if isinstance(reference := part.get("$ref"), str):
            yield self._target(reference)

    def _target(self, reference: str) -> Any:
        if "%" in reference or (reference != "#" and not reference.startswith("#/")):
            raise Unusable("a $ref may only lead into the same schema, as in #/$defs/name")
        target: Any = self._root
        for key in steps(reference):
            try:
                target = target[int(key) if target.__class__ is list else key]
            except (KeyError, IndexError, ValueError, TypeError):
                raise Unusable("a $ref leads nowhere") from None
        return target


def _built(schema: Mapping[str, Any]) -> Validator:
    try:
        return validator_for(
            dict(schema), pattern_options=_PATTERNS, offline=True, mask="the value"
        )
    except (ValidationError, ReferencingError, ValueError, TypeError) as error:
        if '"regex"' in str(error):
            raise Unusable(
                "a pattern in it is not a regular expression or needs lookaround or back references"
            ) from None
        raise Unusable(
            f"it is not a valid JSON Schema: {str(error).splitlines()[0][:LONGEST]}"
        ) from None


def _problem(error: ValidationError) -> dict[str, str]:
    steps = (f"[{step}]" if step.__class__ is int else f".{step}" for step in error.instance_path)
    return {"path": "$" + "".join(steps), "message": error.message[:LONGEST]}
