"""Fixtures of the cast for tests of the operator's API."""

from tests.cast import cast

__all__ = ["cast"]
