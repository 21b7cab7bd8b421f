"""``python -m tests.prose`` prints the rates; with a construction's name, its uses by file."""

import sys

from tests.prose.constructions import CONSTRUCTIONS, ceiling, rate, uses_of
from tests.prose.texts import by_room, prose


def table() -> str:
    """Rates per 10,000 words: a line for each room and page, one for each kind, its ceilings."""
    head = f"{'':26}{'words':>8}" + "".join(f"{name:>12}" for name in CONSTRUCTIONS)
    rows = [head]
    for kind, texts in prose().items():
        rooms = by_room(texts) | {f"all {kind}": "\n".join(texts.values())}
        for name, text in rooms.items():
            rates = [rate(text, each.pattern) for each in CONSTRUCTIONS.values()]
            cells = "".join(f"{number:12.1f}" for number in rates)
            rows.append(f"{name:26}{len(text.split()):8}{cells}")
        ceilings = [ceiling(each, kind) for each in CONSTRUCTIONS.values()]
        rows.append(f"{'at most':34}" + "".join(f"{number:12.1f}" for number in ceilings))
        rows.append("")
    aims = "".join(f"{each.aim:12.1f}" for each in CONSTRUCTIONS.values())
    return "\n".join([*rows, f"{'aim':34}{aims}"])


def uses(name: str, places: list[str]) -> str:
    """The uses of a construction below some paths, or everywhere."""
    files = {path.as_posix(): text for texts in prose().values() for path, text in texts.items()}
    return "\n".join(
        f"{path}: …{use}…"
        for path, text in files.items()
        if path.startswith(tuple(places) or "")
        for use in uses_of(text, CONSTRUCTIONS[name].pattern)
    )


if __name__ == "__main__":
    print(uses(sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else table())
