"""As much of curl as the examples use, for machines without it."""

import argparse
import sys

import httpx


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("-X", dest="method", default="GET")
    parser.add_argument("-H", dest="headers", action="append", default=[])
    parser.add_argument("-d", dest="data")
    for flag in ("-s", "-N"):
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    headers = dict(header.split(": ", 1) for header in options.headers)
    with httpx.stream(
        options.method, options.url, headers=headers, content=options.data, timeout=60
    ) as answer:
        for piece in answer.iter_text():
            sys.stdout.write(piece)


if __name__ == "__main__":
    main()
