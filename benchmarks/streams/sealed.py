"""What a sealed log takes, and what its rows took: short, typical and long logs of an agent.

The words are those of docs/protocol.md, the events go through intake, as an agent's. The rows are
in a partition for themselves, whose size PostgreSQL tells, with its index. A sealed log is charged
its object and its rows in events_sealedpart, with their indexes. Sizes do not depend on the
machine's speed. The promise: at least 10 times smaller.
"""

import os
import random
import secrets
import tempfile
from datetime import date
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agui_project.settings")

PROMISE = 10
KINDS = {"short answers": (1_000, 12), "answers": (300, 150), "long runs": (20, 5_000)}
"""How many logs, and of how many words."""
WORDS = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text().split()
MONTH = date(2020, 1, 1)


def log(chance: random.Random, words: int) -> list[Any]:
    """The records of a run: a question, a tool's call, a state, and an answer of so many words."""
    from agui_host.protocol.intake.intake import Intake

    def some(number: int) -> list[str]:
        begin = chance.randrange(len(WORDS) - number)
        return WORDS[begin : begin + number]

    question = {"id": str(uuid4()), "role": "user", "content": " ".join(some(15))}
    body = {"state": {}, "messages": [question], "tools": [], "context": []}
    intake = Intake(str(uuid4()), str(uuid4()), input=body)
    call, answer = str(uuid4()), str(uuid4())
    lookup = [f'"{word}"'.replace("\\", "") for word in some(4)]
    spoken = [word for _ in range(words // 500 + 1) for word in some(min(words, 500))]
    events = [
        {"type": "TOOL_CALL_START", "toolCallId": call, "toolCallName": "search"},
        *({"type": "TOOL_CALL_ARGS", "toolCallId": call, "delta": part} for part in lookup),
        {"type": "TOOL_CALL_END", "toolCallId": call},
        {"type": "STATE_SNAPSHOT", "snapshot": {"topic": " ".join(some(3)), "step": 1}},
        {"type": "TEXT_MESSAGE_START", "messageId": answer, "role": "assistant"},
        *(
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": answer, "delta": f"{word} "}
            for word in spoken[:words]
        ),
        {"type": "TEXT_MESSAGE_END", "messageId": answer},
    ]
    records = intake.start()
    for event in events:
        records += intake.accept(event)
    return [*records, *intake.finish()]


def measure(name: str, logs: int, words: int, first: UUID) -> tuple[str, dict[str, Any]]:
    """The sizes before and after, in a month that is empty at first."""
    from django.conf import settings
    from django.db import connection

    from events import journal, partitions
    from events.models import Journal
    from events.sealed import sealing

    def size(table: str) -> int:
        with connection.cursor() as cursor:
            cursor.execute("select pg_total_relation_size(%s::regclass)", [table])
            return int(cursor.fetchone()[0])

    def objects() -> int:
        folder = Path(settings.AGUI_FILES)
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())

    chance = random.Random(1)
    keys = [UUID(int=first.int + number) for number in range(logs)]
    table, empty = f"{partitions.PREFIX}{MONTH:%Y_%m}", size("events_sealedpart") + objects()
    events = payloads = 0
    for key in keys:
        Journal.objects.create(pk=key, writer=1)
        records = log(chance, words)
        events += len(records)
        payloads += sum(len(record.payload) for record in records)
        journal.append_all(journal.Claim(key, 1, 0), records)
    rows = size(table)
    place = uuid4()
    sealing.seal(place, list(Journal.objects.filter(pk__in=keys).order_by("pk")))
    sealed = size("events_sealedpart") + objects() - empty
    ratio = rows / sealed
    line = (
        f"{name:<15}{logs:>6} logs{events:>9,} events {payloads / events:>6.0f} B of payload"
        f"{rows / events:>7.0f} B in rows{sealed / events:>7.1f} B sealed   {ratio:>5.1f} times"
        f"   {'kept' if ratio >= PROMISE else 'BROKEN'}"
    )
    row = {"row": name, "logs": logs, "events": events, "rows": rows, "sealed": sealed}
    return line, {**row, "ratio": round(ratio, 1), "must": PROMISE}


def main() -> None:
    import django

    from agui_host.embedded import embedded
    from benchmarks.report import keep

    embedded.ensure()
    django.setup()
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connection

    from events import partitions

    call_command("migrate", verbosity=0)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        settings.AGUI_FILES = folder
        for name, (logs, words) in KINDS.items():
            partitions.ensure_ahead(MONTH, months=0)
            low = partitions.first_id(MONTH).int + secrets.randbits(60)
            results.append(measure(name, logs, words, UUID(int=low)))
            assert partitions.drop(next(iter(partitions.past())))
    keep("sealed", [line for line, _ in results], [row for _, row in results])
    connection.close()
    connection.close_pool()


if __name__ == "__main__":
    main()
