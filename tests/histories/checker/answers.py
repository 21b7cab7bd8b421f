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
        values = {each["value"] for each in lasting}  # an answer may be sent again
        if len(values) > 1:
            people = ", ".join(sorted(f"{each['client']}: {each['value']!r}" for each in lasting))
            yield Violation("answer", id, f"accepted {people}")
        if len(continuing := {each["run"] for each in lasting}) > 1:
            yield Violation("answer", id, f"continues as {', '.join(sorted(map(str, continuing)))}")
        if stored is None:
            if any(answer["status"] is not None for answer in tries):
                yield Violation("answer", id, "was answered, and is not there")
        elif values and stored["value"] not in values:
            yield Violation("answer", id, f"stores {stored['value']!r}, accepted {values}")
        elif stored["value"] is not None and stored["value"] not in [t["value"] for t in tries]:
            yield Violation("answer", id, f"stores {stored['value']!r}, which nobody answered")
        for run in {answer["run"] for answer in accepted} - runs.keys():
            yield Violation("answer", id, f"continues as {run}, which is not there")


def _failed(run: Line | None) -> bool:
    return run is not None and run["status"] == "failed"
