"""Plug-ins: middleware and context providers of other distributions, found by entry points."""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import TypeVar

from django.core.exceptions import ImproperlyConfigured

T = TypeVar("T")


def added(built_in: Mapping[str, type[T]], group: str, base: type[T]) -> Mapping[str, type[T]]:
    """The built-in classes by name, and those of the entry points of ``group``.

    Raises ImproperlyConfigured, which names the plug-in and its fault in one line, so that a host
    without a filter that its agents rely on does not start.
    """
    classes = dict(built_in)
    for point in entry_points(group=group):
        if point.name in classes:
            raise ImproperlyConfigured(f"{_named(point)}: the name is already in use.")
        classes[point.name] = _loaded(point, base)
    return MappingProxyType(classes)


def _loaded(point: EntryPoint, base: type[T]) -> type[T]:
    try:
        plugin = point.load()
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ImproperlyConfigured(f"{_named(point)} cannot be imported: {reason}.") from error
    if not (isinstance(plugin, type) and issubclass(plugin, base)):
        raise ImproperlyConfigured(f"{_named(point)} is not a subclass of {base.__name__}.")
    return plugin


def _named(point: EntryPoint) -> str:
    distribution = f" of {point.dist.name}" if point.dist else ""
    return f"The plug-in {point.name!r}{distribution} ({point.group}: {point.value})"
