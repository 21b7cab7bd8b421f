"""Kinds of requests: for the gate of the web process, declared where a route is declared.

A view of Django declares START with ``@starts``; every other view writes. An ASGI route in
``agui_host/web/routing.py`` always declares the kind of its POST.
"""

from collections.abc import Callable
from typing import Any, Literal, TypeVar

Kind = Literal["start", "write", "read", "join"]
START: Kind = "start"
"""Can start a run, which keeps processors busy after its answer."""
WRITE: Kind = "write"
READ: Kind = "read"
JOIN: Kind = "join"
"""Reads a run or a thread, and mostly stays open: a stream or a socket."""
KIND = "agui_kind"

View = TypeVar("View", bound=Callable[..., Any])


def starts(view: View) -> View:
    """Declare that a POST to this view, a function or a class, can start a run."""
    setattr(view, KIND, START)
    return view


def kind_of(view: object) -> Kind:
    """The declared kind of a POST to this view of Django, given as ``resolve`` finds it."""
    declared = getattr(view, "view_class", view)
    kind: Kind = getattr(declared, KIND, WRITE)
    return kind
