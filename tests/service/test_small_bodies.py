"""Strangers had bodies of any size read into memory: the framework reads JSON before it asks."""

from collections.abc import Iterator

import pytest
from fastapi.routing import APIRoute

from contract.settings import QueueSettings
from service.app import create_app
from service.settings import ServiceSettings
from service.small_bodies import SMALL_BYTES, SmallBodies
from tests.service.conftest import serving

READ_BY_THE_FRAMEWORK = [
    ("PUT", "/v1/ranked/webhook"),
    ("PUT", "/v1/leaderboards/nvfp4_group_gemm/window"),
    ("POST", "/v1/results/x/disqualify"),
    ("POST", "/v1/results/x/reinstate"),
    ("POST", "/popcorn/user/join"),
    ("POST", "/popcorn/admin/invites"),
    ("POST", "/popcorn/admin/leaderboards"),
    ("POST", "/user/join"),
    ("POST", "/admin/invites"),
]
READ_HERE = [
    ("POST", "/v1/jobs"),
    ("POST", "/v1/submissions"),
    ("POST", "/v1/comparisons"),
    ("POST", "/v1/compat/run"),
    ("POST", "/jobs"),
    ("POST", "/popcorn/submission/nvfp4_group_gemm/any/test"),
    ("POST", "/popcorn/nvfp4_group_gemm/any/profile"),
    ("POST", "/popcorn/profile"),
]


def routes_of(router) -> Iterator[APIRoute]:
    for route in router.routes:
        if isinstance(route, APIRoute):
            yield route
        elif hasattr(route, "original_router"):
            yield from routes_of(route.original_router)


def test_every_body_that_the_framework_reads_is_small():
    app = create_app(ServiceSettings(), QueueSettings())
    found = [route for route in routes_of(app) if route.body_field is not None]
    assert len(found) == 7
    assert [route.path for route in found if not isinstance(route, SmallBodies)] == []


@pytest.fixture
async def closed(queue_settings, keys):
    """A client without a key, of a service that has keys."""
    await keys.make("alice")
    settings = ServiceSettings(popcorn_at_root=True)
    async with serving(queue_settings, settings, public=True) as client:
        yield client


async def test_a_stranger_is_cut_off_after_a_little(closed):
    headers = {"content-type": "application/json"}
    body = b" " * (SMALL_BYTES + 1)
    for method, path in READ_BY_THE_FRAMEWORK:
        answer = await closed.request(method, path, content=body, headers=headers)
        assert (answer.status_code, answer.json()["status"]) == (413, 413), path
        assert str(SMALL_BYTES) in answer.json()["detail"]
        answer = await closed.request(method, path, content=body[:-1], headers=headers)
        assert answer.status_code in (401, 422), path


async def test_a_stranger_is_refused_before_the_body_is_read(closed):
    for method, path in READ_HERE:
        answer = await closed.request(method, path, content=b" " * (1 << 20))
        assert answer.status_code == 401, path
