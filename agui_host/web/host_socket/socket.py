"""WS /ws/: one socket for everything a team's program does with runs, in JSON-RPC 2.0."""

import asyncio

from django.conf import settings

from agui_host.web import websocket
from agui_host.web.asgi_http import Request
from agui_host.web.consumers import arriving
from agui_host.web.consumers.opening import opened
from agui_host.web.consumers.sockets import socket
from agui_host.web.host_socket import frames
from agui_host.web.host_socket.outgoing import Outgoing
from agui_host.web.host_socket.requests import Requests
from agui_host.web.host_socket.room import Room
from agui_host.web.scope import Send


@socket(subprotocol=frames.SUBPROTOCOL)
async def host_socket(request: Request, send: Send) -> websocket.Close | None:
    """The close code, or None if the peer has left."""
    principal = await arriving.program(request)
    arriving.refuse_foreign_page(principal, request, json_body=False)
    async with opened(principal):
        request.release()
        outgoing = Outgoing(
            send,
            stall=settings.AGUI_STALL_TIMEOUT,
            heartbeat=settings.AGUI_SSE_HEARTBEAT,
            ping=frames.notification("ping"),
        )
        room = Room(principal, outgoing, settings.AGUI_SSE_HEARTBEAT)
        requests = Requests(room, request)
        try:
            return await _until_over(room, requests)
        finally:
            outgoing.close()
            await room.close()
            await requests.settle()


async def _until_over(room: Room, requests: Requests) -> websocket.Close | None:
    reading = asyncio.create_task(requests.read())
    sending = asyncio.create_task(room.outgoing.run())
    try:
        await asyncio.wait({reading, sending, room.over}, return_when=asyncio.FIRST_COMPLETED)
        ended = [each for each in (reading, sending, room.over) if each.done()]
    finally:
        for task in (reading, sending):
            task.cancel()
        await asyncio.gather(reading, sending, return_exceptions=True)
    try:
        for each in ended:
            each.result()
        if room.over not in ended:
            return None
        await room.outgoing.flush()  # the ends of the subscriptions
    except TimeoutError:
        return websocket.Close.TOO_SLOW
    return websocket.Close.REVOKED
