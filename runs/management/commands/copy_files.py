"""``manage.py copy_files FROM TO``: the files and sealed logs that the database names."""

import asyncio
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agui_host.backends.file_store import file_store
from agui_host.backends.file_store.store import FileStore
from agui_host.backends.postgres import scope
from agui_host.runtimes import file_directory
from events.models import SealedObject
from events.sealed import blocks
from runs.models import File

NAMES = "a directory, or s3://bucket/prefix"
IN_USE = (SealedObject.State.SEALED, SealedObject.State.STALE)


class Command(BaseCommand):
    """``manage.py copy_files``."""

    help = "Copy the files and sealed logs that the database names from one store to another."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("source", metavar="FROM", help=NAMES)
        parser.add_argument("target", metavar="TO", help=NAMES)

    def handle(self, *, source: str, target: str, **options: Any) -> None:
        with scope.everywhere():
            keys = list(_keys())
            if "://" not in target:
                file_directory.repeat_mark(Path(target))
        missing = asyncio.run(_copy_all(file_store(source), file_store(target), keys))
        self.stdout.write(f"{len(keys) - len(missing)} files")
        for key in missing:
            self.stdout.write(f"missing: {key}")
        if missing:
            raise CommandError(f"{source} lacks {len(missing)} files that the database names.")


def _keys() -> Iterator[str]:
    """The names of all stored files and sealed logs, of every team."""
    for file in File.objects.for_operators().exclude(stored_at=None).iterator():
        yield file.key
    rows = SealedObject.objects.filter(state__in=IN_USE).values_list("place", "pk")
    for place, pk in rows.iterator():
        yield blocks.key(place, pk)


async def _copy_all(source: FileStore, target: FileStore, keys: list[str]) -> list[str]:
    """The keys that the source lacks. Raises CommandError if a store fails."""
    missing = []
    for key in keys:
        try:
            async with aclosing(source.read(key)) as pieces:
                await target.put(key, pieces)
        except FileNotFoundError:
            missing.append(key)
        except OSError as error:
            raise CommandError(f"{key} could not be copied: {error}") from error
    return missing
