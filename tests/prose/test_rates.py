"""A construction does not become more frequent than it is; a ceiling follows its rate down."""

from pathlib import Path

import pytest

from tests.prose.constructions import CONSTRUCTIONS, ceiling, rate, uses_of
from tests.prose.texts import CODE, DOCS, kind, of_page, of_python, of_template, prose

SLACK = 2.0
"""How far a ceiling may lie above its rate: lower it after a rewrite."""


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return {kind: "\n".join(files.values()) for kind, files in prose().items()}


@pytest.mark.parametrize("kind", [CODE, DOCS])
@pytest.mark.parametrize("name", CONSTRUCTIONS)
def test_no_rate_rises(texts: dict[str, str], name: str, kind: str) -> None:
    construction = CONSTRUCTIONS[name]
    now, most = rate(texts[kind], construction.pattern), ceiling(construction, kind)
    assert now <= most, f"write {construction.instead}; python -m tests.prose '{name}' lists all"
    assert most <= max(construction.aim, now + SLACK), f"lower the ceiling to {now:.1f}"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("what is", "the statement stores what\nit has received"),
        ("one that", "the run of those that are late"),
        ("it says", "the log says why"),
        ("of its own", "a thread of its own"),
        ("nobody", "a run that nobody reads"),
        ("behind", "the next frame waits behind it"),
        ("final too", "the jobs are deleted, too."),
        ("stands", "an active run goes on"),
        ("may", "a viewer may read it"),
    ],
)
def test_each_construction_is_recognized(name: str, sentence: str) -> None:
    matching = [each for each in CONSTRUCTIONS if uses_of(sentence, CONSTRUCTIONS[each].pattern)]
    assert matching == [name]


@pytest.mark.parametrize(
    "sentence",
    ["What is a journal?", "hosts behind a proxy", "in May", "too many keys", "the rest, too long"],
)
def test_these_are_fine(sentence: str) -> None:
    assert not [each for each in CONSTRUCTIONS if uses_of(sentence, CONSTRUCTIONS[each].pattern)]


def test_a_rate_is_per_ten_thousand_words() -> None:
    assert rate("nobody reads it, nobody asks for it, at most twice.", r"\bnobody\b") == 2_000


def test_the_prose_of_a_module() -> None:
    source = '''
"""The module."""
x = "a_name"  # why
y = f"a {x} must be a number"
z = "select id from runs"
"""Of z; `code that says` is a word."""
'''
    assert set(of_python(source).split("\n")) == {
        "why", "The module.", "Of z; code is a word.", "a … must be a number",
    }  # fmt: skip


def test_the_prose_of_a_template_and_of_a_page() -> None:
    template = '{# why #}{% if x %}<p title="A label">{{ x }} runs</p><script>s</script>'
    assert of_template(template).split() == ["why", "…", "runs", "A", "label"]
    page = "A [page](docs/that-says.md) with `code`\n```sh\nexample\n```\n"
    assert of_page(page).split() == ["A", "[page]", "with", "code"]


def test_files_that_are_counted() -> None:
    assert kind(Path("runs/access/access.py")) == CODE
    assert kind(Path("docs/limits.md")) == kind(Path("README.md")) == DOCS
    left_out = ["docs/seeds/alpine.md", "tests/asgi.py", "static/vendor/d.js", "tests/README.md"]
    assert [kind(Path(name)) for name in left_out] == [None] * 4
