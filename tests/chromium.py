"""Chromium, for the tests that look at pages; it leaves the internet alone."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.needs import need

SECONDS = 30_000
"""How long a page may take, in milliseconds; an expectation of Playwright's own waits for 5,000."""
ARGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@contextmanager
def launched(tool: str = "chromium") -> Iterator[Browser]:
    """A Chromium until the block ends; ``tool`` is a name in ``tests.needs.FINDERS``."""
    chromium = need(tool)
    expect.set_options(timeout=SECONDS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(chromium), args=ARGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for this module; a longer life would leave its event loop to async tests."""
    with launched() as browser:
        yield browser
