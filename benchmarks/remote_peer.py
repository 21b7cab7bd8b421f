"""A remote agent for measurements: each run says one word a second, for as long as it is asked.

``python -m benchmarks.remote_peer PORT``. Plain asyncio: 1,000 connections cost it little.
"""

import asyncio
import json
import sys

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


def frame(**event: object) -> bytes:
    return b"data: " + json.dumps(event).encode() + b"\n\n"


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        size = int(head.partition("content-length: ")[2].partition("\r\n")[0])
        run_input = json.loads(await reader.readexactly(size))
        ids = {name: run_input[name] for name in ("threadId", "runId")}
        writer.write(HEAD + frame(type="RUN_STARTED", **ids))
        writer.write(frame(type="TEXT_MESSAGE_START", messageId="m", role="assistant"))
        for number in range(int(run_input["forwardedProps"]["seconds"])):
            word = frame(type="TEXT_MESSAGE_CONTENT", messageId="m", delta=f"{number} ")
            writer.write(word)
            await asyncio.gather(writer.drain(), asyncio.sleep(1))
        writer.write(frame(type="TEXT_MESSAGE_END", messageId="m"))
        writer.write(frame(type="RUN_FINISHED", **ids))
        await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def main(port: int) -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", port, backlog=2048)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
