"""The cast, and what is theirs: as for the tenancy suite."""

from tests.cast import bell, cast, register
from tests.tenancy.test_doors import house

__all__ = ["bell", "cast", "house", "register"]
