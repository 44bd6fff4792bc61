"""The command in a shell and on a terminal: completion, the browser, 80 columns, colours."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from rich.console import Console

from client import render
from tests.client.answers import JOB, JOBS, ONE, Answer, case, finished, job, problem
from tests.client.conftest import HALFBYTE
from tests.client.on_a_terminal import on_a_terminal
from tests.client.test_render import timing

COMPLETE = """
eval "$(halfbyte --show-completion)"
COMP_WORDS=({words} "{last}") COMP_CWORD={at}
_halfbyte_completion halfbyte
echo "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("words", "last", "offered"),
    [
        ("halfbyte", "pro", ["profile"]),
        ("halfbyte run --mode", "be", ["benchmark"]),
        ("halfbyte submit k.py --problem", "nvfp4_gemv", ["nvfp4_gemv"]),
        ("halfbyte admin", "dis", ["disqualify"]),
        ("halfbyte list --state", "f", ["finished", "failed"]),
    ],
)
def test_a_shell_completes_commands_and_words(environment, words, last, offered):
    """In bash, by the script that `--show-completion` prints for the shell that asks."""
    script = COMPLETE.format(words=words, last=last, at=len(words.split()))
    path = f"{Path(HALFBYTE).parent}:{environment['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        env={**environment, "PATH": path},
        capture_output=True,
        text=True,
        timeout=50,
        check=True,
    )
    assert done.stdout.split() == offered


OTHER_SHELLS = {
    "zsh": """
        compdef() {{ }}
        _arguments() {{ print -r -- "$@" }}
        eval "$(halfbyte --show-completion; true)"
        words=({typed}) CURRENT={at}
        _halfbyte_completion
    """,
    "fish": """
        halfbyte --show-completion | source
        complete -C "{typed}"
    """,
}
"""Print what is offered: in zsh, what its completion is told to."""


@pytest.mark.parametrize("shell", OTHER_SHELLS)
@pytest.mark.parametrize(
    ("typed", "offered", "not_offered"),
    [
        ("halfbyte pro", ("profile",), "compile"),
        ("halfbyte list --state f", ("finished", "failed"), "queued"),
    ],
)
def test_other_shells_complete_by_the_script_that_is_printed_for_them(
    environment, shell, typed, offered, not_offered
):
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    script = OTHER_SHELLS[shell].format(typed=typed, at=len(typed.split()))
    path = f"{Path(HALFBYTE).parent}:{environment['PATH']}"
    done = subprocess.run(
        [shell, "--no-config" if shell == "fish" else "-f", "-c", script],
        env={**environment, "PATH": path},
        capture_output=True,
        text=True,
        timeout=50,
        check=True,
    )
    assert all(word in done.stdout for word in offered)
    assert not_offered not in done.stdout


@pytest.mark.parametrize(
    ("shell", "asks"),
    [("zsh", "_HALFBYTE_COMPLETE=complete_zsh"), ("fish", "_HALFBYTE_COMPLETE=complete_fish")],
)
def test_scripts_for_other_shells_ask_the_command_itself(halfbyte, shell, asks):
    script = halfbyte(_HALFBYTE_COMPLETE=f"source_{shell}").stdout
    assert asks in script
    assert script.count("_TYPER_COMPLETE_ARGS=") == script.count(asks) > 0
    asked = {"_HALFBYTE_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    told = halfbyte(**asked, _TYPER_COMPLETE_ARGS="halfbyte list --state f").stdout
    assert re.findall(r"f[a-z]+ed\b", told) == ["finished", "failed"]


@pytest.mark.parametrize(
    ("shell", "options", "installed"),
    [
        ("bash", "--norc", ".bashrc"),
        ("zsh", "-f", ".zfunc/_halfbyte"),
        ("fish", "--no-config", ".config/fish/completions/halfbyte.fish"),
    ],
)
def test_completion_is_installed_for_the_shell_that_asks(environment, shell, options, installed):
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    subprocess.run(
        [shell, options, "-c", f"{HALFBYTE} --install-completion; true"],
        env=environment,
        capture_output=True,
        timeout=50,
        check=True,
    )
    assert "halfbyte" in (Path(environment["HOME"]) / installed).read_text()


def test_open_shows_the_page_of_a_job_in_the_browser(halfbyte, service, tmp_path):
    service.tell("GET", ONE, Answer(200, finished()))
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {tmp_path}/shown\n')
    browser.chmod(0o700)
    done = halfbyte("open", JOB, "--url", service.url, BROWSER=f"{browser} %s")
    assert (done.returncode, done.stdout) == (0, f"{service.url}/jobs/{JOB}\n")
    assert (tmp_path / "shown").read_text() == f"{service.url}/jobs/{JOB}"


def test_open_asks_whether_there_is_such_a_job(halfbyte, service):
    service.tell("GET", ONE, problem(404, f"there is no job {JOB}"))
    done = halfbyte("open", JOB, "--url", service.url, BROWSER="false")
    assert (done.returncode, done.stdout) == (2, "")


def test_without_a_browser_the_address_is_what_there_is(halfbyte, service):
    service.tell("GET", ONE, Answer(200, finished()))
    done = halfbyte("open", JOB, "--url", service.url, BROWSER="false", DISPLAY="", PATH="")
    assert (done.returncode, done.stdout) == (0, f"{service.url}/jobs/{JOB}\n")
    assert done.stderr == "no browser was found here: open the address yourself\n"


def test_an_artifact_is_printed_as_it_is(halfbyte, service):
    service.tell("GET", f"{ONE}/artifacts/profile", Answer(200, b"ncu says\r\n"))
    done = halfbyte("show", JOB, "--artifact", "profile", "--url", service.url)
    assert done.stdout == "ncu says\n"


def test_an_artifact_of_bytes_is_saved_as_it_is(environment, service):
    written = bytes(range(256))
    service.tell("GET", f"{ONE}/artifacts/profile.ncu-rep", Answer(200, written))
    command = (HALFBYTE, "show", JOB, "--artifact", "profile.ncu-rep", "--url", service.url)
    done = subprocess.run(command, env=environment, capture_output=True, timeout=50, check=True)
    assert done.stdout == written


def test_a_verdict_with_times_fits_in_80_columns():
    sizes = {"m": [80, 176, 128, 72, 64, 248, 96, 160], "n": [4096] * 8, "k": [7168] * 8}
    late = timing(median_us=1644.25, p10_us=1600.1, p90_us=1700.2, unstable=True, launch_bound=True)
    wrong = case(index=10, outcome="incorrect", **sizes)
    out = Console(width=80, markup=False, emoji=False, highlight=False, soft_wrap=True)
    with out.capture() as captured:
        for part in render.job(finished(cases=[case(timing=late, **sizes), wrong])):
            out.print(part)
    lines = captured.get().splitlines()
    assert max(map(len, lines)) <= 80
    assert "1600.10..1700.20" in captured.get()


@pytest.mark.parametrize(("colours", "told"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_a_list_fits_a_terminal_and_has_colours_where_they_are_wanted(
    environment, service, colours, told
):
    headline = {"outcome": "incorrect", "summary": "", "geomean_us": None}
    long = job(id="a" * 32, mode="benchmark", device="H200", filename="a_kernel_of_mine.py")
    page = {"jobs": [{**long, "headline": headline}], "next_cursor": None}
    service.tell("GET", JOBS, Answer(200, page))
    shown = on_a_terminal({**environment, **colours}, "list", "--url", service.url)
    assert (re.search(r"\x1b\[[0-9;]*31m", shown) is not None) is told
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown).split("\r\n")
    assert max(map(len, lines)) <= 80
    assert "a" * 32 in lines[1]
