"""A file is refused at the door only where no worker could run it."""

import ast
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from service import source_check
from service.source_check import check

HONEST = b"def custom_kernel(data):\n    return data\n"
OURS = sys.version_info[:2]


def message(source: bytes) -> str:
    refusal = check(source, OURS)
    assert refusal is not None
    return refusal.message


@pytest.mark.parametrize(
    "source",
    [
        HONEST,
        b"\xef\xbb\xbf" + HONEST.replace(b"\n", b"  # \xe6\x97\xa5\xf0\x9f\x98\x80\r\n"),
        b"# coding: latin-1\n# \xe9\n" + HONEST,
        b"# upstream, stream, downstream\n" + HONEST,
        b"from task import custom_kernel\n",
        b"import kernels as custom_kernel\n",
        b"from solution import *\n",
        b"custom_kernel = make(3)\n",
        b"custom_kernel = lambda data: data\n",
        b"other = len\ncustom_kernel = other\n",
        b"custom_kernel, other = pair\n",
        b"if fast:\n    custom_kernel = 3\nelse:\n    def custom_kernel(data): ...\n",
        b"try:\n    class custom_kernel: ...\nfinally: ...\n",
        b"for custom_kernel in kernels: ...\n",
        b"with kernel() as custom_kernel: ...\n",
        b"(custom_kernel := make())\n",
        b"globals()['custom_' + 'kernel'] = print\n",
        b"import sys\nsetattr(sys.modules[__name__], 'custom' '_kernel', print)\n",
        b"def __getattr__(name): return print\n",
        b"def install():\n    global custom_kernel\n    custom_kernel = print\ninstall()\n",
        b"@traced\nclass custom_kernel: ...\n",
        b"@synchronous\nasync def custom_kernel(data): ...\n",
        b"class custom_kernel(metaclass=Factory): ...\n",
        b"custom_kernel = None\n" + HONEST,
        b"class custom_kernel: ...\n" + HONEST,
        b"custom_kernel = None\nglobals().update(custom_kernel=print)\n",
        b"@export('custom_kernel')\ndef f(data): ...\n",
    ],
)
def test_what_may_define_the_entry_point_is_let_pass(source: bytes):
    assert check(source, OURS) is None


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (b"", "the file is empty"),
        (b" \r\n\t\n", "the file is empty"),
        (b"def other(data): ...\n", "does not define the entry point `custom_kernel`"),
        (b'"""No custom_kernel here."""\n', "does not define the entry point"),
        (b"# custom_kernel\nprint(custom_kernel)\n", "does not define the entry point"),
        (b"class custom_kernel: ...\n", "must be a function, not a class"),
        (b"class custom_kernel(Base): ...\n", "must be a function, not a class"),
        (b"custom_kernel = 3\n", "must be a function, not a constant"),
        (b"custom_kernel: object = [1, 2]\n", "must be a function, not a constant"),
        (HONEST + b"custom_kernel = 'text'\n", "must be a function, not a constant"),
        (b"async def custom_kernel(data): ...\n", "must be a function, not a coroutine"),
    ],
)
def test_what_surely_is_no_function_is_refused(source: bytes, words: str):
    assert words in message(source)


def test_a_nul_byte_is_named_with_its_line():
    refusal = check(HONEST + b"# a\0b\n", OURS)
    assert refusal is not None
    assert "NUL byte at offset 44" in refusal.message
    assert refusal.line == 3


def test_a_byte_that_is_not_utf_8_is_named_with_its_offset():
    refusal = check(HONEST + b"# caf\xe9\n", OURS)
    assert refusal is not None
    assert "not utf-8: byte 0xe9 at offset 46" in refusal.message
    assert refusal.line == 3


@pytest.mark.parametrize(
    ("source", "words", "line"),
    [
        (b"# coding: klingon\n", "unknown encoding: klingon", None),
        (b"# coding: rot13\n", "'rot13' is not a text encoding", None),
        (b"# coding: ascii\n# \xe9\n", "the file is not ascii: byte 0xe9 at offset 18", 2),
        (b"\xef\xbb\xbf# coding: latin-1\n", "encoding problem: utf-8", None),
        (b"# \xe9 in line 1\n", "the file is not utf-8: byte 0xe9 at offset 2", 1),
    ],
)
def test_what_no_encoding_explains_is_refused(source: bytes, words: str, line: int | None):
    refusal = check(source + HONEST, OURS)
    assert refusal is not None
    assert words in refusal.message
    assert refusal.line == line


def test_a_syntax_error_has_line_column_and_text():
    refusal = check(b"import torch\n\ndef custom_kernel(data:\n    return data\n", OURS)
    assert refusal is not None
    assert refusal.message == "syntax error in line 3: '(' was never closed"
    assert (refusal.line, refusal.column) == (3, 18)
    assert refusal.text == "def custom_kernel(data:"


def test_what_only_the_compiler_sees_is_a_syntax_error_too():
    assert message(HONEST + b"return 3\n") == "syntax error in line 3: 'return' outside function"


@pytest.mark.parametrize("nested", [b"-" * 200_000 + b"1", b"1+" * 100_000 + b"1", b"(" * 9000])
def test_nesting_that_the_parser_gives_up_on_is_refused(nested: bytes):
    assert check(HONEST + b"x = " + nested + b"\n", OURS) is not None


def test_an_older_worker_grammar_is_held_to():
    source = b"match 1:\n    case 1: ...\n" + HONEST
    assert check(source, (3, 11)) is None
    refusal = check(source, (3, 9))
    assert refusal is not None
    assert "3.10" in refusal.message


def test_an_unknown_grammar_refuses_only_what_no_grammar_could_read():
    assert check(b"def custom_kernel(data:\n", None) is None
    assert check(b"def other(data): ...\n", None) is None
    assert check(b"", None) is not None
    assert check(b"\0", None) is not None
    assert check(b"\xff", None) is not None


def test_the_check_runs_as_a_process_of_its_own_without_site_packages():
    command = [sys.executable, "-I", "-S", "-W", "ignore", str(Path(source_check.__file__))]
    ran = subprocess.run(
        [*command, "3.11"], input=b"x = '\\d'\n", capture_output=True, check=True, timeout=30
    )
    assert b"does not define the entry point" in ran.stdout
    assert ran.stderr == b""


def test_a_warning_of_the_parser_is_not_an_error():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert check(b"x = '\\d'\nassert (x, 'always')\n" + HONEST, OURS) is None


def test_the_module_imports_the_standard_library_only():
    tree = ast.parse(Path(source_check.__file__).read_bytes())
    imported = {
        name.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for name in node.names
    } | {node.module.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= sys.stdlib_module_names
