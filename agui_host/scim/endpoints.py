"""The views of ``/scim/v2``; the key in the header names the team."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from django.db.models import Count, Prefetch, QuerySet, prefetch_related_objects
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.backends import work
from agui_host.errors import NotFound, Unauthenticated
from agui_host.scim import filters, resources, schemas
from agui_host.scim.errors import NotSupported, handle
from agui_host.scim.media import SCIM, ScimParser, ScimRenderer
from agui_host.scim.patch import patched
from agui_host.teams.authentication import Principal, principal_of
from agui_host.teams.directory import groups, people
from agui_host.teams.limits import refuse_work
from agui_host.teams.models import ScimGroup, ScimGroupMember, ScimUser
from runs.api.parsers import StrictJSONParser

LIST = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
MOST_ENTRIES = 20_000
"""Members of the groups, or groups of the users, of one page."""
ENTRY = 50
"""Units of work for an entry: a row of the database, and about 200 characters."""
Json = dict[str, Any]
R = TypeVar("R", ScimUser, ScimGroup)
Method = TypeVar("Method", bound=Callable[..., Response])


class Entries(NamedTuple):
    """The attribute with the rows that join people and groups, from one side to the other."""

    name: str
    of: str
    to: str


GROUPS = Entries("groups", "person", "group")
MEMBERS = Entries("members", "group", "person")
LISTED = [
    OpenApiParameter("filter", str, description="Comparisons by `eq`, joined by `and`."),
    OpenApiParameter("startIndex", int, description="The first result, from 1."),
    OpenApiParameter("count", int, description=f"At most {schemas.MOST_RESULTS}."),
]
SHOWN = [
    OpenApiParameter("attributes", str, description="The only attributes to show, by commas."),
    OpenApiParameter("excludedAttributes", str, description="Attributes to leave out, by commas."),
]
ANY = OpenApiTypes.OBJECT
BODY = {SCIM: ANY}
"""The type that directories send; generated clients cannot tell two like bodies apart."""
reading = extend_schema(responses={200: ANY}, parameters=SHOWN)


def listing(name: str) -> Callable[[Method], Method]:
    """Describes a list of resources of this name."""
    return extend_schema(
        operation_id=f"scim_v2_{name}_list",
        responses={200: ANY},
        parameters=[*LISTED, *SHOWN],
    )


making = extend_schema(request=BODY, responses={201: ANY})
changing = extend_schema(request=BODY, responses={200: ANY})
removing = extend_schema(responses={204: None})


class ScimView(APIView):
    """A view that speaks SCIM and takes API keys only, never a browser's session."""

    parser_classes = [ScimParser, StrictJSONParser]
    renderer_classes = [ScimRenderer, JSONRenderer]

    def get_exception_handler(self) -> Callable[..., Response]:
        """Errors in SCIM's shape."""
        return handle

    def directory(self, request: Request) -> Principal:
        """The calling key. Raises Unauthenticated, Forbidden."""
        principal = principal_of(request)
        if principal.kind != "key":
            raise Unauthenticated
        principal.require("provision")
        refuse_work(principal.team.pk)
        return principal


class Users(ScimView):
    """The users of the directory."""

    @listing("Users")
    def get(self, request: Request) -> Response:
        """The team's users of the directory."""
        rows = people.visible(self.directory(request))
        return _page(request, rows, filters.USERS, GROUPS, resources.user)

    @making
    def post(self, request: Request) -> Response:
        """Put a person into the team; an account is made if none has the address."""
        principal = self.directory(request)
        row = people.create(principal, resources.person_of(request.data))
        return _made(_user(principal, row.pk))


class User(ScimView):
    """One user."""

    @reading
    def get(self, request: Request, key: UUID) -> Response:
        """One user."""
        return Response(_cut(request, _user(self.directory(request), key)))

    @changing
    def put(self, request: Request, key: UUID) -> Response:
        """Replace a user's attributes; `active: false` ends all their access."""
        principal = self.directory(request)
        people.change(principal, key, resources.person_of(request.data))
        return Response(_user(principal, key))

    @changing
    def patch(self, request: Request, key: UUID) -> Response:
        """Change some attributes by operations."""
        principal = self.directory(request)
        resource = patched(_user(principal, key), request.data)
        people.change(principal, key, resources.person_of(resource))
        return Response(_user(principal, key))

    @removing
    def delete(self, request: Request, key: UUID) -> Response:
        """Deactivate a user and take them out of the directory."""
        people.remove(self.directory(request), key)
        return Response(status=204)


class Groups(ScimView):
    """The groups of the directory."""

    @listing("Groups")
    def get(self, request: Request) -> Response:
        """The team's groups of the directory."""
        rows = groups.visible(self.directory(request))
        return _page(request, rows, filters.GROUPS, MEMBERS, resources.group)

    @making
    def post(self, request: Request) -> Response:
        """A new group; a rule for its name gives its people a role."""
        principal = self.directory(request)
        row = groups.create(principal, resources.group_of(request.data))
        return _made(_group(principal, row.pk))


class Group(ScimView):
    """One group."""

    @reading
    def get(self, request: Request, key: UUID) -> Response:
        """One group."""
        return Response(_cut(request, _group(self.directory(request), key)))

    @changing
    def put(self, request: Request, key: UUID) -> Response:
        """Replace a group's name and members."""
        principal = self.directory(request)
        groups.change(principal, key, resources.group_of(request.data))
        return Response(_group(principal, key))

    @changing
    def patch(self, request: Request, key: UUID) -> Response:
        """Change the name or members by operations."""
        principal = self.directory(request)
        resource = patched(_group(principal, key), request.data)
        groups.change(principal, key, resources.group_of(resource))
        return Response(_group(principal, key))

    @removing
    def delete(self, request: Request, key: UUID) -> Response:
        """Remove a group; its people lose its role."""
        groups.remove(self.directory(request), key)
        return Response(status=204)


class ServiceProviderConfig(ScimView):
    """The supported parts of the standard."""

    @reading
    def get(self, request: Request) -> Response:
        """The parts of SCIM that this host supports."""
        self.directory(request)
        return Response(schemas.service_provider())


class ResourceTypes(ScimView):
    """The kinds of resources."""

    @extend_schema(operation_id="scim_v2_ResourceTypes_list", responses={200: ANY})
    def get(self, request: Request) -> Response:
        """Users and groups."""
        self.directory(request)
        return _described(schemas.resource_types(), "")


class ResourceType(ScimView):
    """A kind of resources."""

    @reading
    def get(self, request: Request, name: str) -> Response:
        """Users, or groups."""
        self.directory(request)
        return _described(schemas.resource_types(), name)


class Schemas(ScimView):
    """The attributes of resources."""

    @extend_schema(operation_id="scim_v2_Schemas_list", responses={200: ANY})
    def get(self, request: Request) -> Response:
        """The attributes of users and groups."""
        self.directory(request)
        return _described(schemas.schemas(), "")


class Schema(ScimView):
    """The attributes of a kind of resources."""

    @reading
    def get(self, request: Request, name: str) -> Response:
        """The attributes of users, or of groups."""
        self.directory(request)
        return _described(schemas.schemas(), name)


@extend_schema(exclude=True)
class Nowhere(ScimView):
    """Every other address, whose errors are in SCIM's shape as well."""

    def get(self, request: Request, rest: str) -> Response:
        """Refuse. Raises NotFound, NotSupported."""
        self.directory(request)
        if rest.endswith(".search"):
            raise NotSupported
        raise NotFound

    post = put = patch = delete = get


def _user(principal: Principal, key: UUID) -> Json:
    return resources.user(*_with([people.find(principal, key)], GROUPS))


def _group(principal: Principal, key: UUID) -> Json:
    return resources.group(*_with([groups.find(principal, key)], MEMBERS))


def _with(rows: list[R], entries: Entries, *, with_entries: bool = True) -> list[R]:
    """The rows, or the first of them, with their entries: at most ``MOST_ENTRIES``, or one row's.

    The standard allows a page to end early.
    """
    mine = ScimGroupMember.objects.already_found().filter(**{f"{entries.of}__in": rows})
    if with_entries:
        counted = mine.order_by().values_list(entries.of).annotate(number=Count("pk"))
        counts, total, fitting = dict(counted), 0, list[R]()
        for row in rows:
            total += counts.get(row.pk, 0)
            if fitting and total > MOST_ENTRIES:
                break
            fitting.append(row)
        if fitting:
            work.charge(fitting[0].team_id, "view", ENTRY * (total + len(fitting)))
        rows, mine = fitting, mine.select_related(entries.to).order_by("pk")
    prefetch_related_objects(rows, Prefetch(entries.name, mine if with_entries else mine.none()))
    return rows


def _made(resource: Json) -> Response:
    return Response(resource, status=201, headers={"Location": resource["meta"]["location"]})


def _described(listed: list[Json], name: str) -> Response:
    if not name:
        return Response(_list(listed, len(listed), 1))
    for resource in listed:
        if resource["id"] == name:
            return Response(resource)
    raise NotFound


def _page(
    request: Request,
    rows: QuerySet[Any],
    columns: dict[str, str],
    entries: Entries,
    as_json: Callable[[Any], Json],
) -> Response:
    text = request.query_params.get("filter", "")
    if text:
        rows = rows.filter(filters.condition(text, columns))
    start = max(1, _number(request, "startIndex", 1))
    count = min(max(0, _number(request, "count", 100)), schemas.MOST_RESULTS)
    resources = _with(
        list(rows[start - 1 : start - 1 + count]),
        entries,
        with_entries=_shows(request, entries.name),
    )
    page = [_cut(request, as_json(row)) for row in resources]
    return Response(_list(page, rows.count(), start))


def _list(page: list[Json], total: int, start: int) -> Json:
    return {
        "schemas": [LIST],
        "totalResults": total,
        "startIndex": start,
        "itemsPerPage": len(page),
        "Resources": page,
    }


def _number(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name, "").strip()
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 9):
        return default
    return int(text)


def _cut(request: Request, resource: Json) -> Json:
    """The resource with the attributes that the request asks for; schemas and id stay."""
    return {k: v for k, v in resource.items() if k in ("schemas", "id") or _shows(request, k)}


def _shows(request: Request, name: str) -> bool:
    only = _names(request, "attributes")
    if only:
        return name.lower() in only
    return name.lower() not in _names(request, "excludedAttributes")


def _names(request: Request, parameter: str) -> set[str]:
    text = request.query_params.get(parameter, "").lower()
    names = (name.strip().rpartition(":")[2] for name in text.split(","))
    return {name.partition(".")[0] for name in names if name}
