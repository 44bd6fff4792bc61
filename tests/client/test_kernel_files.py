"""What a kernel file says of itself, and what is set beside it, through the real command."""

import pytest

from tests.client.answers import EVENTS, JOBS, ONE, Answer, finished, job, stream
from tests.client.conftest import body_of

FILE = b"#!POPCORN leaderboard nvfp4_gemm\n#!POPCORN gpus B200\n#!HALFBYTE mode test\n\nx = 1\n"


@pytest.fixture
def sent(halfbyte, service, tmp_path, monkeypatch):
    """Run a command on a file in a project that sets a device; return body and standard error."""
    service.tell("POST", JOBS, Answer(202, job("queued")))
    service.tell("GET", EVENTS, stream(("state", {"state": "finished"})))
    service.tell("GET", ONE, Answer(200, finished()))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "halfbyte.toml").write_text(f'url = "{service.url}"\ndevice = "H200"\n')

    def run(source, *arguments):
        (tmp_path / "k.py").write_bytes(source)
        done = halfbyte(*arguments)
        assert done.returncode == 0, done.stderr
        body = body_of(service.of("POST")[0])
        del body["source_base64"], body["filename"]
        return body, done.stderr

    return run


@pytest.mark.parametrize(
    ("source", "arguments", "body"),
    [
        (FILE, ("submit", "k.py"), {"problem": "nvfp4_gemm", "device": "B200", "mode": "test"}),
        (
            FILE.replace(b"B200", b"B200 H200"),
            ("submit", "k.py", "--device", "cpu", "--mode", "benchmark", "--problem", "x"),
            {"problem": "x", "device": "cpu", "mode": "benchmark"},
        ),
        (b"x = 1", ("submit", "k.py"), {"device": "H200"}),
        (
            FILE,
            ("profile", "k.py", "--m", "16", "--n", "16", "--k", "16"),
            {"problem": "nvfp4_gemm", "device": "B200", "mode": "profile",
             "m": [16], "n": [16], "k": [16]},
        ),
        (
            FILE,
            ("compile", "k.py", "--target", "sm_90a"),
            {"problem": "nvfp4_gemm", "mode": "compile", "targets": ["sm_90a"]},
        ),
    ],
    ids=["lines before the project", "flags before lines", "project", "profile", "compile"],
)  # fmt: skip
def test_flags_come_before_lines_of_the_file_before_the_project(sent, source, arguments, body):
    assert sent(source, *arguments)[0] == body


def test_words_that_are_not_known_are_told_and_not_fatal(sent):
    body, err = sent(b"#!HALFBYTE colour \x1b[31mred mode test\nx = 1", "submit", "k.py")
    assert body == {"device": "H200", "mode": "test"}
    assert "k.py, line 1: #!HALFBYTE: colour \\x1b[31mred is not understood\n" in err


def test_several_gpus_are_a_choice_that_is_not_ours(halfbyte, tmp_path):
    file = tmp_path / "k.py"
    file.write_bytes(b"#!POPCORN gpus B200 H200\nx = 1")
    done = halfbyte("submit", str(file), HALFBYTE_URL="http://127.0.0.1:1")
    assert done.returncode == 2
    assert "k.py names several GPUs, B200 H200: choose one with --device\n" in done.stderr
