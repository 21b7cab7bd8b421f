"""/a2a/…/tasks/{id}/pushNotificationConfigs: where a client wants to hear of its task."""

from agui_host.backends.postgres.bridge import db, db_read
from agui_host.dialects.a2a import push_verbs as a2a_push
from agui_host.dialects.a2a.endpoints import JSON, agent_of
from agui_host.dialects.a2a.push import read
from agui_host.teams.authentication import Principal
from agui_host.web.asgi_http import Request, answer_json
from agui_host.web.scope import Send
from agui_host.web.shares import parsing


async def create(request: Request, send: Send, principal: Principal) -> None:
    """POST …/pushNotificationConfigs; one of the same id is replaced."""
    config = await parsing.body(request, principal.team.pk, read)
    made, task = await db(
        a2a_push.put, principal, agent_of(request), request.kwargs["task"], config
    )
    await answer_json(send, 200, made.wire(str(task)), JSON)


async def get(request: Request, send: Send, principal: Principal) -> None:
    """GET …/pushNotificationConfigs/{name}."""
    task_id, name = request.kwargs["task"], request.kwargs["name"]
    config, task = await db_read(a2a_push.find, principal, agent_of(request), task_id, name)
    await answer_json(send, 200, config.wire(str(task)), JSON)


async def listed(request: Request, send: Send, principal: Principal) -> None:
    """GET …/pushNotificationConfigs, oldest first."""
    configs, task, following = await db_read(
        a2a_push.of_task, principal, agent_of(request), request.kwargs["task"], request.query
    )
    rows = [config.wire(str(task)) for config in configs]
    await answer_json(send, 200, {"configs": rows, "nextPageToken": following}, JSON)


async def delete(request: Request, send: Send, principal: Principal) -> None:
    """DELETE …/pushNotificationConfigs/{name}."""
    task_id, name = request.kwargs["task"], request.kwargs["name"]
    await db(a2a_push.remove, principal, agent_of(request), task_id, name)
    await answer_json(send, 200, {}, JSON)
