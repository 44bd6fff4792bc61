"""Reports of a process that compiles: bounded when written, and never trusted when read."""

import json
import mmap

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from worker.compilation import Report
from worker.tool_report import (
    FILE_BYTES,
    JOB_BYTES,
    PROFILE_BYTES,
    REGION_BYTES,
    TEXT_BYTES,
    cut_to_share,
    first_lines,
    head_of,
    read_file,
    read_report,
    write_file,
    write_report,
)

HONEST = {
    "name": "gemm",
    "instructions": {"mma.sync": 4},
    "registers": 255,
    "spill_bytes": 0,
    "shared_bytes": 1024,
    "tma": True,
    "ptx": ".target sm_90a\n",
    "sass": "EXIT",
}


@pytest.fixture
def memory():
    with mmap.mmap(-1, 2 * REGION_BYTES) as mapping:
        yield mapping


@pytest.fixture
def profile_memory():
    with mmap.mmap(-1, PROFILE_BYTES) as mapping:
        yield mapping


def test_a_report_is_read_as_it_was_written(memory):
    write_report(memory, 1, {"status": 3, "text": "words ü \udcff", "kernels": [HONEST]})
    found = Report.model_validate_json(read_report(memory, 1))
    assert (found.text, found.kernels[0].model_dump()) == ("words ü ?", HONEST)
    assert read_report(memory, 0) == b""


def test_a_report_longer_than_its_region_is_none(memory):
    memory[:4] = b"\xff" * 4
    assert read_report(memory, 0) == b""


def test_a_file_lies_behind_the_report_as_it_is(profile_memory):
    data = bytes(range(256)) * (FILE_BYTES // 256)
    write_report(profile_memory, 0, {"text": "words"})
    write_file(profile_memory, data)
    assert read_file(profile_memory) == data
    assert json.loads(read_report(profile_memory, 0)) == {"text": "words"}
    with pytest.raises(ValueError, match="a report of 8388609 bytes"):
        write_file(profile_memory, data + b"x")


@pytest.mark.parametrize("length", [FILE_BYTES + 1, 2**32 - 1])
def test_a_file_longer_than_its_region_is_none(profile_memory, length):
    assert read_file(profile_memory) == b""
    profile_memory[REGION_BYTES : REGION_BYTES + 4] = length.to_bytes(4, "little")
    assert read_file(profile_memory) == b""


def test_a_full_share_of_real_texts_fits_into_a_region(memory):
    line = '\t@!P1 IADD R9, R9, -R34 ;  // "a"\n'
    texts = cut_to_share([line * 100_000] * 8, 1)
    kernels = [{**HONEST, "ptx": texts[2 * n], "sass": texts[2 * n + 1]} for n in range(4)]
    assert sum(map(len, texts)) == JOB_BYTES
    write_report(memory, 0, {"status": 2, "text": "", "kernels": kernels})
    assert len(Report.model_validate_json(read_report(memory, 0)).kernels) == 4


@pytest.mark.parametrize(
    "changed",
    [
        {"registers": -1},
        {"registers": 2**31},
        {"registers": 1.5},
        {"registers": "12"},
        {"instructions": {"x" * 201: 1}},
        {"instructions": {str(n): n for n in range(65)}},
        {"name": "x" * 201},
        {"tma": None},
        {"ptx": b"".hex() or None},
        {"links": {"ptx": "../../etc/passwd"}},
    ],
)
def test_a_kernel_that_breaks_the_schema_breaks_the_report(changed):
    report = {"status": 2, "text": "", "kernels": [{**HONEST, **changed}]}
    with pytest.raises(ValidationError):
        Report.model_validate_json(json.dumps(report))


@pytest.mark.parametrize(
    "report",
    [
        b"null",
        b"[" * 1_000_000,
        b'{"status": 99, "text": "", "kernels": []}',
        b'{"status": 2, "text": "\\ud800", "kernels": []}',
        b'{"status": 2, "text": "\xff", "kernels": []}',
        b'{"status": NaN, "text": "", "kernels": []}',
        b'{"status": 1' + b"0" * 10_000 + b', "text": "", "kernels": []}',
        b'{"status": 2, "text": "", "kernels": [' + b"0," * 1000 + b"0]}",
    ],
)
def test_bytes_that_are_no_report_are_refused(report):
    with pytest.raises(ValidationError):
        Report.model_validate_json(report)


@given(
    st.lists(st.text(max_size=50).map(lambda text: text * 20_000), max_size=6), st.integers(1, 4)
)
def test_texts_are_cut_to_their_bounds(texts, targets):
    kept = cut_to_share(texts, targets)
    assert len(kept) == len(texts)
    sizes = [len(text.encode()) for text in kept]
    assert sum(sizes) <= JOB_BYTES // targets
    assert max(sizes, default=0) <= TEXT_BYTES


def test_a_text_that_is_cut_keeps_its_head_and_says_so():
    cut = head_of("0123456789" * 100, 200)
    assert cut.startswith("0123456789")
    assert cut.endswith("\n... cut: 1000 bytes in all ...\n")
    assert len(cut) == 200


def test_a_message_shows_thirty_lines():
    shown = first_lines("\n".join(map(str, range(100))))
    assert shown.splitlines()[-2:] == ["29", "... 70 more lines"]
    assert first_lines("\none\ntwo\n") == "one\ntwo"
