"""``manage.py store_pieces``: long texts of conversations, stored once."""

from typing import Any

from django.core.management.base import BaseCommand

from runs.lifecycle.pieces import converting


class Command(BaseCommand):
    """``manage.py store_pieces``."""

    help = (
        "Store the inputs and conversations of an earlier release once, thread by thread, while "
        "the host runs. It can be stopped and run again. VACUUM then frees the room for new rows."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        threads = inputs = folds = 0
        for converted in converting.convert():
            threads, inputs = threads + 1, inputs + converted.inputs
            folds += converted.folds
        self.stdout.write(f"{inputs} inputs and {folds} conversations of {threads} threads stored")
