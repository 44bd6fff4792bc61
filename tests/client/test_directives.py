import pytest

from client.directives import directives


@pytest.mark.parametrize(
    ("head", "values"),
    [
        ("#!POPCORN leaderboard nvfp4_group_gemm\n#!POPCORN gpus B200\n",
         {"problem": "nvfp4_group_gemm", "device": "B200"}),
        ("#!popcorn leaderboard x\n# POPCORN gpu H200\n", {}),
        ("#!POPCORN Leaderboard NVFP4_Group_GEMM\n", {"problem": "nvfp4_group_gemm"}),
        ("#!POPCORN gpu NVIDIA\n", {"device": "any"}),
        ("#!POPCORN gpus B200 H200\n", {"device": "B200 H200"}),
        ("#!HALFBYTE problem nvfp4_gemv device H200 mode test\n",
         {"problem": "nvfp4_gemv", "device": "H200", "mode": "test"}),
        ("#!HALFBYTE device H200\r\n\r\n#!HALFBYTE device cpu\r\n", {"device": "cpu"}),
        ("#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n\n#!HALFBYTE mode test\n",
         {"mode": "test"}),
        ("\ufeff#!HALFBYTE mode test\n", {"mode": "test"}),
        ("import torch\n#!HALFBYTE mode test\n", {}),
        ('"""A kernel."""\n#!HALFBYTE mode test\n', {}),
        ("  #!HALFBYTE mode test\n", {}),
        ("", {}),
    ],
)  # fmt: skip
def test_the_head_of_a_file_says_what_it_is_for(head, values):
    found = directives((head + "\nx = 1\n").encode())
    assert found.values == values
    assert found.unknown == ()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("#!HALFBYTE colour red mode test", "line 2: #!HALFBYTE: colour red is not understood"),
        ("#!HALFBYTE mode test device", "line 2: #!HALFBYTE: device is not understood"),
        ("#!HALFBYTE", "line 2: #!HALFBYTE: an empty line is not understood"),
        ("#!POPCORN leaderboard", "line 2: #!POPCORN: leaderboard is not understood"),
        ("#!POPCORN colour red", "line 2: #!POPCORN: colour red is not understood"),
    ],
)
def test_what_is_not_understood_is_told_and_the_rest_counts(line, said):
    found = directives(f"# a kernel\n{line}\n".encode())
    assert found.unknown == (said,)
    assert found.values == ({"mode": "test"} if "mode" in line else {})


def test_bytes_that_are_no_text_do_not_matter():
    assert directives(b"# \xff\n#!HALFBYTE mode test\n\xff\n").values == {"mode": "test"}
