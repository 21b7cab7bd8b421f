"""The prose of a repository: what people read in its code, its pages and its templates."""

import ast
import io
import re
import tokenize
from collections import defaultdict
from pathlib import Path

from tests.house import repository
from tests.house.repository import PACKAGES, within

CODE, DOCS = "code", "docs"
WORDS = 4
"""A string of fewer words is a name or a label, no sentence."""
SQL = re.compile(
    r"\s*(select|insert into|update \w+ set|delete from|create|alter|drop|with \w+ as|grant|revoke|"
    r"lock table)\b"
)
LEFT_OUT = {"migrations", "vendor", "node_modules", "seeds", "upstream", "dist"}


def of_python(source: str) -> str:
    """Docstrings, comments, and strings that are sentences: error messages, mostly."""
    pieces = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not re.match(r"# (noqa|type:|fmt:)", token.string):
            pieces.append(token.string.lstrip("#: "))
    tree = ast.parse(source)
    stated = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            values = [part.value if isinstance(part, ast.Constant) else "…" for part in node.values]
            text = "".join(str(value) for value in values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = "" if id(node) in parts else node.value
        else:
            continue
        if id(node) in stated or _is_sentence(text):
            pieces.append(_without_code(text))
    # The lines of a comment are one text: no stop separates the pieces.
    return "\n".join(pieces)


def _is_sentence(text: str) -> bool:
    return len(re.findall(r"\b[a-z]+\b", text)) >= WORDS and not SQL.match(text)


def of_template(source: str) -> str:
    """The text of a page, its labels, and the template's comments."""
    source = re.sub(r"(?s)<(script|style)\b.*?</\1>", " ", source)
    labels = re.findall(r"\b(?:title|aria-label|placeholder|alt)=\"([^\"]*)\"", source)
    text = re.sub(r"(?s)\{#(.*?)#\}", r" \1 ", "\n".join([source, *labels]))
    text = re.sub(r"(?s)\{%.*?%\}|<[^>]*>", " ", text)
    return re.sub(r"(?s)\{\{.*?\}\}", "…", text)


def of_page(source: str) -> str:
    """A Markdown page without its examples; inline code counts as one word."""
    source = re.sub(r"(?ms)^```.*?^```$", " ", source)
    return re.sub(r"\]\([^)]*\)", "] ", _without_code(source))


def of_script(source: str) -> str:
    """The comments of JavaScript and CSS."""
    comments = re.findall(r"(?s)/\*(.*?)\*/|(?m:(?:^|\s)//(.*)$)", source)
    return "\n".join(" ".join(pair) for pair in comments).replace("*", " ")


def of_sql(source: str) -> str:
    """The comments of SQL."""
    return "\n".join(re.findall(r"--(.*)$", source, re.MULTILINE))


def _without_code(text: str) -> str:
    return re.sub(r"`+[^`\n]+`+", "code", text)


READERS = {
    ".py": of_python,
    ".html": of_template,
    ".txt": of_template,
    ".js": of_script,
    ".mjs": of_script,
    ".ts": of_script,
    ".css": of_script,
    ".sql": of_sql,
    ".md": of_page,
}


def kind(path: Path) -> str | None:
    """Whether a file is counted as code or as docs; None: it is not counted."""
    if LEFT_OUT & set(path.parts) or path.suffix not in READERS:
        return None
    if path.suffix == ".md":
        return DOCS if len(path.parts) == 1 or path.parts[0] == "docs" else None
    return CODE if path.parts[0] in {*PACKAGES, "templates", "static", "clients"} else None


def prose(root: Path = repository.ROOT) -> dict[str, dict[Path, str]]:
    """By kind, the prose of each file."""
    texts: dict[str, dict[Path, str]] = {CODE: {}, DOCS: {}}
    for path in repository.files(root):
        if counted := kind(path):
            texts[counted][path] = READERS[path.suffix]((root / path).read_text("utf-8"))
    return texts


def by_room(texts: dict[Path, str]) -> dict[str, str]:
    """The prose of each room as one text; of docs, that of each page."""
    rooms: dict[str, list[str]] = defaultdict(list)
    for path, text in texts.items():
        name = path.as_posix() if path.suffix == ".md" else within(path)[0]
        rooms["docs/adr" if path.parts[:2] == ("docs", "adr") else name].append(text)
    return {name: "\n".join(parts) for name, parts in sorted(rooms.items())}
