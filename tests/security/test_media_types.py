"""The type of a file: what is declared must not contradict its first bytes."""

import pytest

from agui_host.security.media_types import OPAQUE, guessed, matches, normal, recognised, served

PNG, PDF, ZIP = b"\x89PNG\r\n\x1a\n....", b"%PDF-1.7", b"PK\x03\x04...."
WAVE, MP4 = b"RIFF\x00\x00\x00\x00WAVEfmt ", b"\x00\x00\x00\x18ftypmp42"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


@pytest.mark.parametrize(
    ("declared", "plain"),
    [
        ("Text/Plain; charset=utf-8", "text/plain"),
        ("image/svg+xml", "image/svg+xml"),
        ("text", None),
        ("text/", None),
        ("a b/c", None),
        ("x/" + "y" * 64, None),
    ],
)
def test_a_type_is_read_without_its_parameters(declared: str, plain: str | None) -> None:
    assert normal(declared) == plain


@pytest.mark.parametrize(
    ("declared", "head", "media_type"),
    [
        ("image/png", PNG, "image/png"),
        ("image/png", PDF, None),
        ("image/png", b"<script>", None),
        ("text/plain", PNG, None),
        ("text/html", b"<p>", "text/html"),
        ("application/problem+json", b"{}", "application/problem+json"),
        ("text/csv", "a,ü".encode("utf-16"), "text/csv"),
        ("application/vnd.ms-excel", b"a,b\n1,2", "text/csv"),
        (
            "application/vnd.ms-excel",
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
            "application/vnd.ms-excel",
        ),
        (DOCX, ZIP, DOCX),
        (DOCX, PDF, None),
        ("audio/wav", WAVE, "audio/wav"),
        ("video/quicktime", MP4, "video/quicktime"),
        ("audio/mpeg", b"\xff\xfb\x90\x00", "audio/mpeg"),
        ("audio/aiff", b"\x00\x01FORM", "audio/aiff"),
        ("audio/aiff", PNG, None),
        ("audio/aiff", b"words", None),
        ("application/x-own", b"anything", "application/x-own"),
        (OPAQUE, PDF, "application/pdf"),
        (OPAQUE, b"words", OPAQUE),
    ],
)
def test_bytes_agree_with_the_declared_type_or_it_is_refused(
    declared: str, head: bytes, media_type: str | None
) -> None:
    assert recognised(declared, head) == media_type


@pytest.mark.parametrize(
    ("media_type", "pattern", "fits"),
    [
        ("image/png", "*/*", True),
        ("image/png", "image/*", True),
        ("image/png", "image/png", True),
        ("image/png", "image/jpeg", False),
        ("imagery/png", "image/*", False),
    ],
)
def test_a_pattern_covers_a_type(media_type: str, pattern: str, fits: bool) -> None:
    assert matches(media_type, ["application/pdf", pattern]) is fits


@pytest.mark.parametrize(
    ("media_type", "header"),
    [
        ("image/png", "image/png"),
        ("text/plain", "text/plain; charset=utf-8"),
        ("image/svg+xml", OPAQUE),
        ("text/html", OPAQUE),
        ("application/javascript", OPAQUE),
    ],
)
def test_a_browser_gets_nothing_that_it_could_run(media_type: str, header: str) -> None:
    assert served(media_type) == header


def test_a_name_stands_for_a_type() -> None:
    assert guessed("report.PDF") == "application/pdf"
    assert guessed("no extension") == OPAQUE
