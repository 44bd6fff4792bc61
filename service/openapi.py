"""The description of the interface at /openapi.json, with what routes read by themselves."""

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from service.compat.run_request import RunRequest
from service.job_request import SEED_SCHEMA, ComparisonRequest, JobRequest
from service.problem_document import MEDIA_TYPE, ProblemDocument

VERSION = version("halfbyte")
TEMPLATE = "#/components/schemas/{model}"
Schema = dict[str, Any]

WHAT = {
    400: "The body cannot be read",
    401: "A key is needed, and none that holds was given",
    403: "The key's role is too low; or this was sent by a web page of another site",
    404: "There is no such thing",
    409: "No leaderboard that the ranked job may enter takes jobs now; `windows` says when",
    413: "The source or the body is too large",
    415: "The body is of a type that is not taken here",
    421: "The service is not known by this name: on loopback it is localhost",
    422: "A field or a parameter breaks a rule; `errors` says which",
    429: "A quota is used up; `quota` says which, `Retry-After` when to send again",
    503: "The queue is away or full; `Retry-After` says when to ask again",
}


def json_body(model: type[BaseModel]) -> Schema:
    """Return the body of a route that reads JSON by itself."""
    schema = {"$ref": TEMPLATE.format(model=model.__name__)}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def problems(*statuses: int) -> dict[int | str, Schema]:
    """Return the responses of a route that may answer with these problems."""
    schema = {"$ref": TEMPLATE.format(model="ProblemDocument")}
    return {
        status: {"description": WHAT[status], "content": {MEDIA_TYPE: {"schema": schema}}}
        for status in statuses
    }


def reads_by_itself(query: type[BaseModel]) -> Schema:
    """Return what FastAPI cannot see of a route that takes key and query out of its request."""
    properties = query.model_json_schema()["properties"]
    return {
        "security": [{"HTTPBearer": []}],
        "parameters": [
            {
                "name": name,
                "in": "query",
                "required": False,
                "description": schema.pop("description", ""),
                "schema": schema,
            }
            for name, schema in properties.items()
        ],
    }


def description_of(app: FastAPI) -> Callable[[], Schema]:
    """Return what describes `app`, made once."""

    def describe() -> Schema:
        if app.openapi_schema is None:
            schema = get_openapi(
                title=app.title, version=app.version, summary=app.summary, routes=app.routes
            )
            schemas = schema["components"]["schemas"]
            for model in (JobRequest, ComparisonRequest, RunRequest, ProblemDocument):
                described = model.model_json_schema(ref_template=TEMPLATE)
                schemas |= described.pop("$defs", {})
                schemas[model.__name__] = described
            schemas["Case"]["properties"]["seed"] = {
                "anyOf": [*SEED_SCHEMA["anyOf"], {"type": "null"}]
            }
            _describe_what_stands_before_routes(schema)
            app.openapi_schema = schema
        return app.openapi_schema

    return describe


def _describe_what_stands_before_routes(schema: Schema) -> None:
    """Add what access and middleware answer; take out what FastAPI adds for nothing.

    It adds a 422 also where no parameter can be wrong.
    """
    for path in schema["paths"].values():
        for operation in path.values():
            secured = "security" in operation
            if secured:
                operation["security"].append({})  # none, while there are no keys
            for status, response in problems(*((401, 403) if secured else ()), 421).items():
                operation["responses"][str(status)] = response
            if "HTTPValidationError" in str(operation["responses"].get("422")):
                del operation["responses"]["422"]
    for name in ("HTTPValidationError", "ValidationError"):
        schema["components"]["schemas"].pop(name, None)


def upload_body() -> Schema:
    """Return the two bodies of an upload: a form, or the file itself with fields in the query."""
    fields = {
        name: {"type": "string", "description": field.description or ""}
        for name, field in JobRequest.model_fields.items()
        if name not in ("source", "source_base64")
    }
    file = {"type": "string", "format": "binary"}
    form = {
        "type": "object",
        "properties": {"file": file, **fields},
        "required": ["file"],
        "additionalProperties": False,
    }
    return {
        "requestBody": {
            "required": True,
            "content": {
                "multipart/form-data": {"schema": form},
                "application/octet-stream": {"schema": file},
            },
        },
        "parameters": [
            {"name": name, "in": "query", "required": False, "schema": {"type": "string"}}
            for name in fields
        ],
    }


def comparison_body() -> Schema:
    """Return the two bodies of a comparison: JSON, or a form with two files or names of kernels."""
    body = json_body(ComparisonRequest)
    candidate = {"type": "string", "format": "binary"}
    fields = {
        name: candidate if name in ("a", "b") else {"type": "string"}
        for name in ComparisonRequest.model_fields
    }
    form = {
        "type": "object",
        "properties": fields,
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    body["requestBody"]["content"]["multipart/form-data"] = {"schema": form}
    return body
