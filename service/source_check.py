"""Look at a submitted file without running it: is it Python, and does it define the entry point?

    python -I -S -W ignore service/source_check.py 3.11 < k.py        null, or one JSON object

Standard library only, and run as a process of its own: parsing holds the interpreter lock for as
long as it lasts (4.7 s and 680 MB for a hostile file of 1 MB), so a thread would stall every other
client, and what parses strangers' bytes may run into a limit without hurting anybody.

A file is refused only where no worker could use it. Whatever might bind the name while it runs (a
call, an import, a branch, a decorator, `globals()[...]`) is let pass, and the worker decides.
Bytes are looked at as they are: never decoded and encoded again.
"""

import ast
import io
import json
import resource
import sys
import tokenize
from typing import NamedTuple

ENTRY_POINT = "custom_kernel"
MEMORY_BYTES = 1 << 30
SHOWN_CHARACTERS = 200
"""Length of the quoted line of a syntax error."""

_CONSTANTS = (ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.Dict, ast.Set)
_DYNAMIC = frozenset(
    {"globals", "locals", "vars", "exec", "eval", "setattr", "modules", "import_module"}
    | {"__dict__", "__getattr__", "__builtins__", "f_globals", "f_locals"}
)
"""Names by which a module can bind a name that is not written in it."""


class Refusal(NamedTuple):
    """Why a file cannot be run, and where that shows (null where it shows nowhere)."""

    message: str
    line: int | None = None
    column: int | None = None
    text: str | None = None


def check(source: bytes, grammar: tuple[int, int] | None) -> Refusal | None:
    """Return why no worker could run `source`, or None.

    `grammar` is the newest Python version of the workers in question; None where it is newer than
    this interpreter, which then cannot tell what is a syntax error there.
    """
    refusal = _check_bytes(source)
    if refusal is not None or grammar is None:
        return refusal
    try:
        tree = ast.parse(source, feature_version=grammar)
        compile(tree, "submission", "exec", dont_inherit=True)
    except SyntaxError as error:
        return _syntax_refusal(error)
    except (RecursionError, MemoryError):
        return Refusal("the file is nested too deeply or is too large for the Python parser")
    return _check_entry_point(tree)


def _check_bytes(source: bytes) -> Refusal | None:
    if not source.strip():
        return Refusal("the file is empty")
    position = source.find(b"\0")
    if position >= 0:
        return Refusal(
            f"the file contains a NUL byte at offset {position} (is it UTF-16?)",
            _line_of(source, position),
        )
    encoding, fault = "utf-8", None
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    except SyntaxError as error:
        fault = Refusal(f"the file cannot be decoded: {error.msg}")
    try:
        source.decode(encoding)
    except UnicodeDecodeError as error:
        return Refusal(
            f"the file is not {encoding}: byte 0x{source[error.start]:02x} at offset "
            f"{error.start}; another encoding needs a coding cookie in line 1 or 2",
            _line_of(source, error.start),
        )
    except (LookupError, ValueError) as error:
        return Refusal(f"the file cannot be decoded: {error}")
    return fault


def _line_of(source: bytes, position: int) -> int:
    return source.count(b"\n", 0, position) + 1


def _syntax_refusal(error: SyntaxError) -> Refusal:
    text = None if error.text is None else error.text.rstrip()[:SHOWN_CHARACTERS]
    where = "" if error.lineno is None else f" in line {error.lineno}"
    return Refusal(f"syntax error{where}: {error.msg}", error.lineno, error.offset, text)


def _check_entry_point(tree: ast.Module) -> Refusal | None:
    plain = [statement for statement in tree.body if _binds_plainly(statement)]
    refusal = _refusal_of_last(plain)
    if refusal is None:
        return None
    bound = 0
    for node in ast.walk(tree):
        if _binds_unseen(node):
            return None
        bound += _binds(node)
    # More than the plain statements: in a branch, a loop or a function. Only running it tells.
    return None if bound > len(plain) else refusal


def _refusal_of_last(plain: list[ast.stmt]) -> Refusal | None:
    """Return what is wrong with the entry point if these statements are all that bind it."""
    if not plain:
        return Refusal(f"the file does not define the entry point `{ENTRY_POINT}`")
    last = plain[-1]
    kind = _not_a_function(last)
    if kind is None:
        return None
    return Refusal(
        f"the entry point `{ENTRY_POINT}` must be a function, not {kind}",
        last.lineno,
        last.col_offset + 1,
    )


def _binds_plainly(statement: ast.stmt) -> bool:
    """Whether the statement itself binds the entry point, once."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name == ENTRY_POINT
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            return name == ENTRY_POINT
    return _binds(statement)


def _binds(node: ast.AST) -> bool:
    """Whether this node, and no node inside it, binds or unbinds the name in some scope."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return name == ENTRY_POINT
        case (
            ast.FunctionDef(name=name)
            | ast.AsyncFunctionDef(name=name)
            | ast.ClassDef(name=name)
            | ast.ExceptHandler(name=name)
            | ast.MatchAs(name=name)
            | ast.MatchStar(name=name)
            | ast.MatchMapping(rest=name)
        ):
            return name == ENTRY_POINT
    return False


def _binds_unseen(node: ast.AST) -> bool:
    """Whether the node may bind the entry point by another way than a statement with its name."""
    match node:
        case ast.alias(name=name, asname=other):
            return name == "*" or ENTRY_POINT in (name, other)
        case ast.Constant(value=value):
            return bool(value == ENTRY_POINT)
        case ast.Global(names=names):
            return ENTRY_POINT in names
        case ast.Attribute(attr=name):
            return name == ENTRY_POINT or name in _DYNAMIC
        case ast.Name(id=name) | ast.FunctionDef(name=name):
            return name in _DYNAMIC
    return False


def _not_a_function(statement: ast.stmt) -> str | None:
    """Return what the statement binds where that is surely no plain function."""
    match statement:
        case ast.AsyncFunctionDef(decorator_list=[]):
            return "a coroutine"
        case ast.ClassDef(decorator_list=[], keywords=[]):
            return "a class"
        case ast.Assign(value=value) | ast.AnnAssign(value=value):
            return "a constant" if isinstance(value, _CONSTANTS) else None
    return None


def main() -> None:
    """Check standard input with the grammar named by the first argument, or with none."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    grammar = None
    if len(sys.argv) > 1:
        major, minor = sys.argv[1].split(".")
        grammar = int(major), int(minor)
    refusal = check(sys.stdin.buffer.read(), grammar)
    json.dump(refusal and refusal._asdict(), sys.stdout)


if __name__ == "__main__":
    main()
