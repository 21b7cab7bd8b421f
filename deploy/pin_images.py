"""Write behind each tag in docker-compose.yml and Dockerfile the digest that it has right now.

Run it where Docker reaches the registries, from anywhere; again for newer images. Nothing is
written unless every image was found.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILES = {
    ROOT / "docker-compose.yml": r"^ +image: ",
    ROOT / "Dockerfile": r"^FROM ",
}
OURS = "agui-run-host"
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def main() -> None:
    texts = {path: path.read_text() for path in FILES}
    digests: dict[str, str] = {}

    def pinned(match: "re.Match[str]") -> str:
        image = match[2]
        if image.startswith(OURS):  # built here
            return match[0]
        if image not in digests:
            digests[image] = digest_of(image)
            print(f"{image} {digests[image]}")
        return f"{match[1]}{image}@{digests[image]}"

    for path, before in FILES.items():
        line = re.compile(rf"({before})([^\s@]+)(?:@{DIGEST.pattern})?", re.MULTILINE)
        texts[path] = line.sub(pinned, texts[path])
    for path, text in texts.items():
        path.write_text(text)


def digest_of(image: str) -> str:
    """What the registry says; ends the program if it says nothing."""
    command = ["docker", "buildx", "imagetools", "inspect", image]
    try:
        done = subprocess.run(  # noqa: S603  names from our own files
            [*command, "--format", "{{.Manifest.Digest}}"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        sys.exit(f"{image}: docker cannot be asked: {error}")
    digest = done.stdout.strip()
    if done.returncode or not DIGEST.fullmatch(digest):
        sys.exit(f"{image}: no digest: {' '.join((done.stderr or done.stdout).split())[:300]}")
    return digest


if __name__ == "__main__":
    main()
