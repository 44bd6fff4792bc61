"""Sizes are integers, one a group; whatever else comes is refused with the path of it."""

import pytest

from service.settings import ServiceSettings
from tests.service.conftest import serving
from tests.service.test_errors import problem_in

GOOD = {"m": [16], "n": [16], "k": [16]}
CONSTANT = {"a_code": 7, "b_code": [7], "a_scale": 56, "b_scale": 56}


async def refused(http, body: object) -> list[str]:
    """Send, expect a refusal that leaves no job behind, and return the paths it names."""
    answer = await http.post("/v1/jobs", json=body)
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert (await http.get("/v1/jobs")).json()["jobs"] == []
    return [error["field"] for error in answer.json()["errors"]]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"m": [], "n": [], "k": []}, "m"),
        ({"m": [1, 2, 3], "n": [1, 2]}, "m"),
        ({"k": [0]}, "k[0]"),
        ({"k": [17]}, "k[0]"),
        ({"n": [0]}, "n[0]"),
        ({"m": [-1]}, "m[0]"),
        ({"m": ["128"]}, "m[0]"),
        ({"m": [128.5]}, "m[0]"),
        ({"m": [128.0]}, "m[0]"),
        ({"m": [1e9]}, "m[0]"),
        ({"m": [10**9]}, "m[0]"),
        ({"m": [True]}, "m[0]"),
        ({"m": [None]}, "m[0]"),
        ({"m": [[1]]}, "m[0]"),
        ({"m": 128}, "m"),
        ({"m": "128"}, "m"),
        ({"m": {"0": 128}}, "m"),
        ({"n": [65537]}, "n[0]"),
        ({"m": [0] * 1025, "n": [1] * 1025, "k": [16] * 1025}, "k"),
        ({"m": [65536], "n": [65536]}, "m"),
        ({"seed": -1}, "seed"),
        ({"seed": 1 << 128}, "seed"),
        ({"seed": 1.0}, "seed"),
        ({"seed": True}, "seed"),
        ({"seed": "g"}, "seed"),
        ({"seed": "0" * 33}, "seed"),
        ({"distribution": "normal"}, "distribution"),
        ({"distribution": 3}, "distribution"),
        ({"distribution": {**CONSTANT, "a_code": 16}}, "distribution.a_code"),
        ({"distribution": {**CONSTANT, "b_scale": 128}}, "distribution.b_scale"),
        ({"distribution": {**CONSTANT, "b_code": [1, 2]}}, "distribution.b_code"),
        ({"distribution": {**CONSTANT, "a_scale": "56"}}, "distribution.a_scale"),
        ({"distribution": {**CONSTANT, "spread": 1}}, "distribution.spread"),
        ({"poison_padding": 1}, "poison_padding"),
        ({"poison_padding": "true"}, "poison_padding"),
        ({"groups": 1}, "groups"),
    ],
)
async def test_a_wrong_field_is_named_in_both_forms(http, change, field):
    assert await refused(http, {**GOOD, **change}) == [field]
    in_cases = await refused(http, {"cases": [GOOD, {**GOOD, **change}]})
    # What concerns m, n and k together is said of the case as a whole.
    assert in_cases in ([f"cases[1].{field}"], ["cases[1]"] if field == "m" else [])


async def test_an_empty_group_is_accepted(http):
    body = {"m": [128, 0, 64], "n": [256] * 3, "k": [512] * 3}
    assert (await http.post("/v1/jobs", json=body)).status_code == 202
    assert (await http.post("/v1/jobs", json={**body, "m": [0, 0, 0]})).status_code == 202


async def test_constant_operands_are_accepted(http, queue):
    answer = await http.post("/v1/jobs", json={**GOOD, "distribution": CONSTANT})
    assert answer.status_code == 202


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({**GOOD, "cases": [GOOD]}, ["m"]),
        ({"cases": [GOOD], "seed": 1}, ["seed"]),
        ({"m": [16], "n": [16]}, ["k"]),
        ({"seed": 1}, ["m"]),
        ({"cases": []}, ["cases"]),
        ({"cases": [GOOD] * 65}, ["cases"]),
        ({"cases": GOOD}, ["cases"]),
        ({"cases": [3]}, ["cases[0]"]),
        ({"cases": [{"m": [16]}]}, ["cases[0].n", "cases[0].k"]),
    ],
)
async def test_forms_are_not_mixed_nor_left_incomplete(http, body, fields):
    assert await refused(http, body) == fields


async def test_several_faults_are_told_at_once(http):
    body = {"m": ["1"], "n": [True], "k": [16.0], "modus": "test"}
    assert await refused(http, body) == ["m[0]", "n[0]", "k[0]", "modus"]


async def test_a_flood_of_faults_is_told_in_part(http):
    assert 1 < len(await refused(http, {**GOOD, "m": ["x"] * 1000})) <= 20


async def test_limits_are_settings(queue_settings):
    settings = ServiceSettings(limits={"cases": 1, "extent": 32})
    async with serving(queue_settings, settings) as http:
        assert await refused(http, {"cases": [GOOD, GOOD]}) == ["cases"]
        assert await refused(http, {**GOOD, "n": [33]}) == ["n[0]"]
        shown = (await http.get("/v1/problems/nvfp4_group_gemm")).json()
        assert shown["request_limits"]["extent"] == 32


async def test_cases_that_take_the_judge_too_long_together_are_refused(http):
    large = {"m": [16384], "n": [16384], "k": [8192]}
    assert (await http.post("/v1/jobs", json={"cases": [large] * 3})).status_code == 202
    refused = problem_in(await http.post("/v1/jobs", json={"cases": [large] * 4}))
    ((field, message),) = [(each.field, each.message) for each in refused.errors]
    assert (field, str(2 << 30) in message) == ("cases", True)
