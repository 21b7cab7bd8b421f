"""The documents in which a directory reads about the attributes of this host."""

from typing import Any

from agui_host.links import absolute
from agui_host.scim.resources import GROUP, USER

Json = dict[str, Any]
PREFIX = "urn:ietf:params:scim:schemas:core:2.0"
MOST_RESULTS = 200


def service_provider() -> Json:
    """The supported parts of the standard."""
    no = {"supported": False}
    return {
        "schemas": [f"{PREFIX}:ServiceProviderConfig"],
        "documentationUri": absolute("/docs/howto-scim"),
        "patch": {"supported": True},
        "bulk": {**no, "maxOperations": 0, "maxPayloadSize": 0},
        "filter": {"supported": True, "maxResults": MOST_RESULTS},
        "changePassword": no,
        "sort": no,
        "etag": no,
        "authenticationSchemes": [
            {
                "type": "oauthbearertoken",
                "name": "API key",
                "description": "A key of a team's owner with the scope scim, as Bearer.",
                "specUri": "https://www.rfc-editor.org/info/rfc6750",
                "primary": True,
            }
        ],
        "meta": {
            "resourceType": "ServiceProviderConfig",
            "location": absolute("/scim/v2/ServiceProviderConfig"),
        },
    }


def resource_types() -> list[Json]:
    """Users and groups."""
    return [_resource_type("User", "Users", USER), _resource_type("Group", "Groups", GROUP)]


def schemas() -> list[Json]:
    """Their attributes."""
    user = [
        _attribute("userName", required=True, uniqueness="server"),
        _attribute(
            "name",
            "complex",
            subAttributes=[
                _attribute("familyName"),
                _attribute("givenName"),
            ],
        ),
        _attribute("displayName"),
        _attribute("active", "boolean", required=True),
        _attribute(
            "emails",
            "complex",
            required=True,
            multiValued=True,
            subAttributes=[
                _attribute("value", required=True),
                _attribute("type", canonicalValues=["work"]),
                _attribute("primary", "boolean"),
            ],
        ),
        _attribute(
            "groups",
            "complex",
            multiValued=True,
            mutability="readOnly",
            subAttributes=[
                *_references("Group", "readOnly"),
                _attribute("display", mutability="readOnly"),
            ],
        ),
    ]
    group = [
        _attribute("displayName", required=True, uniqueness="server"),
        _attribute(
            "members",
            "complex",
            multiValued=True,
            subAttributes=[
                *_references("User", "immutable"),
                _attribute("type", mutability="immutable", canonicalValues=["User"]),
            ],
        ),
    ]
    return [_schema(USER, "User", user), _schema(GROUP, "Group", group)]


def _resource_type(name: str, kind: str, schema: str) -> Json:
    return {
        "schemas": [f"{PREFIX}:ResourceType"],
        "id": name,
        "name": name,
        "endpoint": f"/{kind}",
        "schema": schema,
        "meta": {
            "resourceType": "ResourceType",
            "location": absolute(f"/scim/v2/ResourceTypes/{name}"),
        },
    }


def _schema(key: str, name: str, attributes: list[Json]) -> Json:
    return {
        "schemas": [f"{PREFIX}:Schema"],
        "id": key,
        "name": name,
        "description": f"{name}s of this host.",
        "attributes": attributes,
        "meta": {"resourceType": "Schema", "location": absolute(f"/scim/v2/Schemas/{key}")},
    }


def _references(kind: str, mutability: str) -> list[Json]:
    return [
        _attribute("value", mutability=mutability),
        _attribute("$ref", "reference", mutability=mutability, referenceTypes=[kind]),
    ]


def _attribute(name: str, kind: str = "string", **more: Any) -> Json:
    texts = {"caseExact": False, "uniqueness": "none"} if kind == "string" else {}
    return {
        "name": name,
        "type": kind,
        "multiValued": False,
        "description": name,
        "required": False,
        "mutability": "readWrite",
        "returned": "default",
        **texts,
        **more,
    }
