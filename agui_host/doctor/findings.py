"""A check's result, and the table of checks in the order in which the doctor makes them."""

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

ORDER = (
    "modules", "settings", "database", "migrations", "roles", "policies", "functions", "partitions",
    "connections", "pooler", "jit", "replication", "clock", "valkey", "disk", "files", "agents",
    "workers", "chores", "metrics", "mail", "public url", "certificate", "websockets", "streams",
)  # fmt: skip


class Fault(NamedTuple):
    """One thing that does not work, and the action that ends it."""

    text: str
    remedy: str


Check = Callable[[], str | list[Fault]]
"""Returns the subject that it examined, for a line that begins with ok, or the faults."""


@dataclass(frozen=True)
class Subject:
    """A check by its name; ``needs`` names a check without which it has nothing to look at."""

    name: str
    check: Check
    needs: str = ""


@dataclass(frozen=True)
class Finding:
    """The outcome of one check."""

    subject: str
    faults: tuple[Fault, ...] = ()
    detail: str = ""

    def lines(self) -> Iterator[str]:
        """The report for people: one line for each fault, or one line that begins with ok."""
        if not self.faults:
            yield f"ok     {self.subject:12} {self.detail}".rstrip()
        for fault in self.faults:
            yield f"fault  {self.subject:12} {fault.text} Remedy: {fault.remedy}"


_subjects: dict[str, Subject] = {}


def check(name: str, needs: str = "") -> Callable[[Check], Check]:
    """Register a function as the check of this name, which is in ``ORDER``."""

    def register(function: Check) -> Check:
        _subjects[name] = Subject(name, function, needs)
        return function

    return register


@functools.cache
def subjects() -> tuple[Subject, ...]:
    """All checks, in order."""
    from agui_host.doctor import checks

    for module in pkgutil.iter_modules(checks.__path__, f"{checks.__name__}."):
        importlib.import_module(module.name)
    return tuple(sorted(_subjects.values(), key=lambda subject: ORDER.index(subject.name)))


def examine() -> Iterator[Finding]:
    """The findings of all checks, each as soon as it is made."""
    sick: set[str] = set()
    for subject in subjects():
        if subject.needs in sick:
            sick.add(subject.name)
            yield Finding(subject.name, (_not_checked(subject),))
            continue
        finding = examine_one(subject)
        if finding.faults:
            sick.add(subject.name)
        yield finding


def examine_one(subject: Subject) -> Finding:
    """The finding of one check. A check that fails is a fault: nothing ends the doctor early."""
    try:
        outcome = subject.check()
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        text = f"It could not be checked: {reason}"
        return Finding(subject.name, (Fault(text, "Correct the faults above, and look again."),))
    if isinstance(outcome, str):
        return Finding(subject.name, detail=outcome)
    return Finding(subject.name, tuple(outcome))


def _not_checked(subject: Subject) -> Fault:
    return Fault(
        f"It was not checked, because of the fault of {subject.needs}.",
        f"Correct {subject.needs} first, and look again.",
    )


def of_line(line: str) -> Fault:
    """A fault from a line of a start, which has its remedy after the last semicolon or colon."""
    flat = " ".join(line.split()).removesuffix(".")
    for mark in ("; ", ": "):
        text, there, remedy = flat.rpartition(mark)
        if there:
            return Fault(f"{text}.", f"{remedy[:1].upper()}{remedy[1:]}.")
    return Fault(f"{flat}.", "Correct this setting.")
