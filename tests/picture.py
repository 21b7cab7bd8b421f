"""The picture of who imports whom: ``make picture`` writes docs/imports.svg.

A box is a room, or a part of one where two parts lie on different floors; inside it its folders. An
arrow that follows from others is left out.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path

import grimp

from tests.house import repository

PICTURE = repository.ROOT / "docs" / "imports.svg"
STARTING = (
    "__main__", "apps", "checks", "cli", "environment", "management", "release", "settings",
    "startup", "validators",
)  # fmt: skip
PARTS = {
    "agui_project.urls": "agui_project: urls",
    **{f"agui_project.{name}": "agui_project: settings, cli" for name in STARTING},
    "embedded.management": "embedded: commands",
    **{f"web.{name}": "web: routing" for name in ("application", "asgi", "description", "routing")},
}
"""What of a room lies on another floor than the rest of it."""

Arrows = dict[str, set[str]]
CHIP, GAP, PAD, LINE = 26, 14, 14, 22
FLOOR = 46


def place(module: str) -> tuple[str, ...]:
    """The names of a module, its room first."""
    parts = tuple(module.split("."))
    return parts[1:] if parts[0] == repository.BELOW and parts[1] in repository.ROOMS else parts


def room_of(module: str) -> str:
    """The box that a module is in."""
    parts = place(module)
    return PARTS.get(".".join(parts[:2]), parts[0])


def folder_of(module: str) -> str | None:
    """The folder inside its room that a module is in; None for the room's own files."""
    folder = "/".join(place(module)[:2])
    places = (repository.ROOT / folder, repository.ROOT / repository.BELOW / folder)
    return folder if any(place.is_dir() for place in places) else None


def imports() -> list[tuple[str, str]]:
    """(importer, imported) of all modules but migrations and the names for authors of agents."""
    graph = grimp.build_graph(*repository.PACKAGES, cache_dir=None)
    modules = sorted(graph.modules - {repository.BELOW})
    modules = [name for name in modules if ".migrations" not in name]
    return [
        (name, other)
        for name in modules
        for other in sorted(graph.find_modules_directly_imported_by(name))
        if ".migrations" not in other
    ]


def between(pairs: Iterable[tuple[str | None, str | None]]) -> Arrows:
    """The arrows between different places."""
    arrows: Arrows = defaultdict(set)
    for one, other in pairs:
        if one and other and one != other:
            arrows[one].add(other)
    return dict(arrows)


def circle(arrows: Mapping[str, set[str]]) -> list[str]:
    """Places that lead back to themselves, in order; empty where there are none."""
    done: set[str] = set()

    def search(place: str, way: list[str]) -> list[str]:
        if place in way:
            return [*way[way.index(place) :], place]
        if place in done:
            return []
        for other in sorted(arrows.get(place, ())):
            if way_back := search(other, [*way, place]):
                return way_back
        done.add(place)
        return []

    return next((way_back for place in sorted(arrows) if (way_back := search(place, []))), [])


def floors(places: Iterable[str], arrows: Mapping[str, set[str]]) -> list[list[str]]:
    """The places by floor, the highest first: each as high as it may be below its importers.

    Those that nobody imports and that import nothing stand at the bottom.
    """
    depth: dict[str, int] = {}

    def of(place: str) -> int:
        if place not in depth:
            above = [one for one, others in arrows.items() if place in others]
            depth[place] = 1 + max(map(of, above), default=-1)
        return depth[place]

    rows: dict[int, list[str]] = defaultdict(list)
    lowest = max(map(of, arrows), default=0) + 1
    for place in sorted(places):
        rows[lowest if of(place) == 0 and place not in arrows else of(place)].append(place)
    return [rows[level] for level in sorted(rows)]


def reduced(arrows: Mapping[str, set[str]]) -> list[tuple[str, str]]:
    """The arrows without those that follow from others."""

    def reaches(place: str, goal: str) -> bool:
        return any(next == goal or reaches(next, goal) for next in arrows.get(place, ()))

    return [
        (one, other)
        for one in sorted(arrows)
        for other in sorted(arrows[one])
        if not any(reaches(between, other) for between in arrows[one] - {other})
    ]


def folders() -> dict[str, list[str]]:
    """The folders of each room."""
    by_folder: dict[str, set[str]] = defaultdict(set)
    for path in repository.files():
        if path.suffix != ".py" or path.parts[0] not in repository.PACKAGES:
            continue
        if "migrations" not in path.parts:
            parts = repository.within(path)
            room = room_of(".".join((*parts[:-1], path.stem)))
            folder = "/".join(parts[1:-1]).replace("management/commands", "commands")
            by_folder[room] |= {folder} - {"", "management"}
    return {room: sorted(names) for room, names in by_folder.items()}


def drawn() -> str:
    """The picture as SVG, the same for the same imports."""
    pairs = imports()
    arrows = between((room_of(one), room_of(other)) for one, other in pairs)
    contents = folders()
    if way := circle(arrows):
        raise SystemExit(f"a circle of imports: {' → '.join(way)}")
    rows = floors(contents, arrows)
    boxes = {room: _Box(room, names) for room, names in contents.items()}
    width = max(sum(boxes[r].width for r in row) + 3 * GAP * (len(row) + 1) for row in rows)
    top = GAP
    lines = reduced(arrows)
    for row in rows:
        row.sort(key=lambda room: (_centre([boxes[a] for a, b in lines if b == room]), room))
        left = (width - sum(boxes[r].width for r in row) - 3 * GAP * (len(row) - 1)) / 2
        if len(row) == 1 and (above := [boxes[one] for one, other in lines if other == row[0]]):
            wide = boxes[row[0]].width
            left = min(max(_centre(above) - wide / 2, GAP), width - wide - GAP)
        for room in row:
            boxes[room].left, boxes[room].top = left, top
            left += boxes[room].width + 3 * GAP
        top += max(boxes[room].height for room in row) + FLOOR
    height = top - FLOOR + GAP
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        'font-family="system-ui, sans-serif" font-size="13" role="img">'
    )
    return "\n".join(
        [
            head,
            "<title>The rooms and who imports whom: every arrow goes down</title>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
            'markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" fill="#567"/></marker></defs>',
            f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fff"/>',
            *(_arrow(boxes[one], boxes[other]) for one, other in lines),
            *(box.drawn() for box in boxes.values()),
            "</svg>\n",
        ]
    )


class _Box:
    """A room with its folders, at most four of them in a line."""

    left = top = 0.0

    def __init__(self, room: str, chips: list[str]) -> None:
        self.room = room
        self.lines = [chips[at : at + 4] for at in range(0, len(chips), 4)]
        self.widths = [[_wide(chip) + 14 for chip in line] for line in self.lines]
        widest = max((sum(widths) + 6 * (len(widths) - 1) for widths in self.widths), default=0.0)
        self.width = max(widest, _wide(room) * 1.2) + 2 * PAD
        self.height = LINE + CHIP * len(self.lines) + PAD

    def drawn(self) -> str:
        """The box, its name and its chips."""
        parts = [
            f'<rect x="{self.left:.0f}" y="{self.top:.0f}" width="{self.width:.0f}" '
            f'height="{self.height:.0f}" rx="6" fill="#f4f7fa" stroke="#567"/>',
            f'<text x="{self.left + PAD:.0f}" y="{self.top + 18:.0f}" font-weight="600">'
            f"{escape(self.room)}</text>",
        ]
        for number, (chips, widths) in enumerate(zip(self.lines, self.widths, strict=True)):
            left, top = self.left + PAD, self.top + LINE + 4 + CHIP * number
            for chip, wide in zip(chips, widths, strict=True):
                parts.append(
                    f'<rect x="{left:.0f}" y="{top:.0f}" width="{wide:.0f}" height="20" rx="4" '
                    f'fill="#fff" stroke="#bcc"/><text x="{left + 7:.0f}" y="{top + 14:.0f}" '
                    f'font-size="12">{escape(chip)}</text>'
                )
                left += wide + 6
        return "".join(parts)


def _centre(boxes: list["_Box"]) -> float:
    """Where the importers of a room stand; they have been placed before it."""
    return sum(box.left + box.width / 2 for box in boxes) / max(len(boxes), 1)


def _wide(text: str) -> float:
    return 7.8 * len(text)


def _arrow(one: _Box, other: _Box) -> str:
    x1, y1 = one.left + one.width / 2, one.top + one.height
    x2, y2 = other.left + other.width / 2, other.top
    bend = (y2 - y1) / 2
    return (
        f'<path d="M{x1:.0f} {y1:.0f}C{x1:.0f} {y1 + bend:.0f} {x2:.0f} {y2 - bend:.0f} '
        f'{x2:.0f} {y2:.0f}" fill="none" stroke="#567" marker-end="url(#tip)"/>'
    )


def main(path: Path = PICTURE) -> None:
    path.write_text(drawn(), "utf-8")


if __name__ == "__main__":
    main()
