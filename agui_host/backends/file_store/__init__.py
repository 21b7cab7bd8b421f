"""Where the bytes of uploaded files are: a directory of this machine, or a bucket."""

import functools
from pathlib import Path

from django.conf import settings

from agui_host.backends.file_store.store import FileStore

__all__ = ["file_store"]


@functools.cache
def file_store(place: str | None = None) -> FileStore:
    """The store that ``AGUI_FILES`` names: a path, or ``s3://bucket/prefix``."""
    place = settings.AGUI_FILES if place is None else place
    if place.startswith("s3://"):
        from agui_host.backends.file_store.bucket import Bucket

        return Bucket(place)
    from agui_host.backends.file_store.directory import Directory

    return Directory(Path(place))
