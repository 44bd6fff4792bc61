"""Flags for people: what is found, and what is not."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.verdict import Passed
from tests.worker.judge_harness import JudgeHarness
from worker.protocol import TEXT_BYTES
from worker.review import MOST, WHY, Flag, flags, from_text, to_text

CANDIDATES = Path(__file__).parent.parent / "candidates"
HONEST = sorted(
    path.stem
    for path in CANDIDATES.glob("*honest_*.py")
    if path.stem not in ("honest_joined_threads", "gpu_honest_own_streams")
)


def words(source: str) -> list[str]:
    return [flag.word for flag in flags(source.encode())]


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("import ctypes", "ctypes"),
        ("from ctypes import util", "ctypes"),
        ("import torch\ntorch.ops.load_library('x.so')", "dlopen"),
        ("from torch.utils.cpp_extension import load_inline", "native"),
        ("open('/proc/self/maps')", "paths"),
        ("from pathlib import Path\nPath('/proc')", "paths"),
        ("open(f'/proc/{pid}/mem')", "paths"),
        ("from threading import Thread", "threads"),
        ("import concurrent.futures", "threads"),
        ("import os\nos.fork()", "processes"),
        ("import subprocess", "processes"),
        ("import torch\nside = torch.cuda.Stream()", "streams"),
        ("import gc", "gc"),
        ("import sys\nsys._getframe(1)", "frames"),
        ("frame.f_back.f_locals", "frames"),
        ("kept[a.data_ptr()] = c", "pointer_cache"),
        ("key = (a.data_ptr(), n)\nif key in kept:\n    pass", "pointer_cache"),
        ("kept.setdefault(id(data), []).append(c)", "pointer_cache"),
        ("@functools.lru_cache\ndef custom_kernel(data):\n    pass", "cache"),
        ("import torch\ntorch.cuda.synchronize = print", "patches"),
        ("import torch\nsetattr(torch.cuda, 'synchronize', print)", "patches"),
        ("import worker.protocol", "harness"),
        ("import __main__", "harness"),
        ("exec('import ctypes')", "dynamic"),
        ("__import__('c' + 'types')", "dynamic"),
        ("import urllib.request", "network"),
        ("SOURCE = 'cudaStreamCreate(&s)'\nload_inline('x', SOURCE)", "streams"),
        ("def (", "unread"),
        ("-" * 100_000 + "1", "unread"),
    ],
)
def test_what_is_worth_a_look_is_flagged(source: str, word: str) -> None:
    assert word in words(source)


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_file_has_no_flags(name: str) -> None:
    assert flags((CANDIDATES / f"{name}.py").read_bytes()) == ()


@pytest.mark.parametrize(
    "source",
    [
        "# ctypes, /proc/self/mem, threading, a side stream, gc.get_objects(), dlopen, data_ptr()",
        '"""Reads /proc/self/maps with ctypes on another stream."""',
        "def custom_kernel(data):\n    'uses threading and gc'\n    return data",
        "name = 'cudaStreamCreate dlopen'",
        "import torch\nfast = torch.compile(f)",
        "pointer = a.data_ptr()\nlaunch(pointer)",
        "self.cache[key] = value",
        "import torch\nx = torch.zeros(1)\nx.grad = None",
    ],
)
def test_a_word_in_a_comment_or_a_text_is_only_a_word(source: str) -> None:
    assert words(source) == []


def test_a_flag_names_its_line() -> None:
    assert flags(b"x = 1\n\nimport gc\n") == (Flag(3, "gc"),)


@given(st.binary(max_size=200))
def test_any_bytes_can_be_reviewed(source: bytes) -> None:
    assert all(flag.word in WHY for flag in flags(source))


@given(
    st.lists(st.builds(Flag, st.integers(1, 10**6), st.sampled_from(sorted(WHY))), max_size=MOST)
)
def test_flags_fit_into_a_record_and_come_back(found: list[Flag]) -> None:
    text = to_text(tuple(found))
    assert len(text.encode()) <= TEXT_BYTES
    assert from_text(text) == tuple(found)


@given(st.text())
def test_any_text_is_read_back_as_flags_or_nothing(text: str) -> None:
    assert all(flag.word in WHY for flag in from_text(text))


def test_a_verdict_carries_the_flags_and_does_not_depend_on_them(judge: JudgeHarness) -> None:
    verdict = judge.judge((CANDIDATES / "honest_joined_threads.py").read_bytes())
    assert isinstance(verdict, Passed)
    assert {(flag.line, flag.word) for flag in verdict.review} == {(6, "threads"), (19, "threads")}
    assert all(flag.why == WHY[flag.word] for flag in verdict.review)


def test_a_candidate_cannot_take_its_flags_back(judge: JudgeHarness) -> None:
    source = (CANDIDATES / "cheat_forges_answer.py").read_bytes()
    assert "harness" in {flag.word for flag in judge.judge(source).review}
