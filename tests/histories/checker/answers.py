"""Answers by several people: the first one wins, and it is the one that is stored."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from .lines import Line
from .violation import Violation


def violations(
    answers: Iterable[Line], questions: dict[str, Line], runs: dict[str, Line]
) -> Iterator[Violation]:
    by_question: defaultdict[str, list[Line]] = defaultdict(list)
    for answer in answers:
        by_question[answer["interrupt"]].append(answer)
    for id, tries in by_question.items():
        accepted = [answer for answer in tries if answer["status"] == 200]
        stored = questions.get(id)
        # A question whose answering run failed is open again.
        lasting = [each for each in accepted if not _failed(runs.get(each["run"] or ""))]
        if len(lasting) > 1:
            people = ", ".join(f"{each['client']}: {each['value']!r}" for each in lasting)
            yield Violation("answer", id, f"accepted {people}")
        if stored is None:
            yield Violation("answer", id, "was answered, and is not there")
        elif lasting and stored["value"] not in [each["value"] for each in lasting]:
            values = f"{stored['value']!r} instead of {lasting[0]['value']!r}"
            yield Violation("answer", id, f"stores {values}")
        elif stored["value"] is not None and stored["value"] not in [t["value"] for t in tries]:
            yield Violation("answer", id, f"stores {stored['value']!r}, which nobody answered")
        for answer in accepted:
            if answer["run"] not in runs:
                yield Violation("answer", id, f"continues as {answer['run']}, which is not there")


def _failed(run: Line | None) -> bool:
    return run is not None and run["status"] == "failed"
