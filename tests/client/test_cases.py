import json

import pytest

from client.cases import read_cases, typed_cases
from client.errors import UsageError

SIZES = {"m": "96,128", "n": "128 256", "k": "256, 512"}
CASE = {"m": [96, 128], "n": [128, 256], "k": [256, 512]}


def test_sizes_are_separated_by_commas_or_blanks():
    assert typed_cases(SIZES, None) == [CASE]


def test_no_sizes_are_no_case():
    assert typed_cases({"m": None, "n": None, "k": None}, None) == []


def test_a_batch_is_one_integer_beside_the_sizes():
    assert typed_cases(SIZES, None, 8) == [{**CASE, "l": 8}]
    with pytest.raises(UsageError, match="--l goes with"):
        typed_cases({"m": None, "n": None, "k": None}, None, 8)


@pytest.mark.parametrize(
    ("typed", "seed"),
    [("7", 7), ("0xff", 255), ("0" * 30 + "12", 0x12), ("AB" * 16, int("ab" * 16, 16))],
)
def test_a_seed_is_an_integer_or_what_a_verdict_shows(typed, seed):
    assert typed_cases(SIZES, typed) == [{**CASE, "seed": seed}]


@pytest.mark.parametrize(
    ("sizes", "seed", "said"),
    [
        ({**SIZES, "n": None}, None, "not given: --n"),
        ({"m": "1", "n": None, "k": None}, None, "not given: --n and --k"),
        ({**SIZES, "k": "256,5x"}, None, "--k takes integers, one a group: 96,128; got '256,5x'"),
        ({**SIZES, "m": "1.5"}, None, "--m takes integers"),
        ({"m": None, "n": None, "k": None}, "1", "--seed goes with"),
        (SIZES, "abc", "--seed takes"),
        (SIZES, "x" * 32, "--seed takes"),
    ],
)
def test_what_makes_no_sense_is_named(sizes, seed, said):
    with pytest.raises(UsageError, match=said):
        typed_cases(sizes, seed)


@pytest.mark.parametrize(
    "content",
    [[CASE], CASE, {"cases": [CASE]}, {"problem": "x", "cases": [CASE]}, {"mode": "test", **CASE}],
)
def test_a_file_may_be_a_list_a_case_or_a_request_body(tmp_path, content):
    file = tmp_path / "cases.json"
    file.write_text(json.dumps(content))
    assert read_cases(file) == [CASE]


@pytest.mark.parametrize("content", ["", "{", "[]", "[1]", "1", "null", '{"cases": 3}', "\xff"])
def test_a_file_of_something_else_is_refused_by_name(tmp_path, content):
    file = tmp_path / "cases.json"
    file.write_text(content, encoding="latin-1")
    with pytest.raises(UsageError, match=r"cases\.json"):
        read_cases(file)


def test_a_file_that_is_not_there_is_refused_by_name(tmp_path):
    with pytest.raises(UsageError, match=r"none\.json: No such file"):
        read_cases(tmp_path / "none.json")
