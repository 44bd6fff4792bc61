"""What a person should look at in a submission: lines and words, found in its syntax tree.

A hint and never a gate: no outcome depends on it, an honest file may do any of this, and a hostile
one can hide all of it (`dynamic` says where). Comments and docstrings are not looked at. It runs in
the sandbox, before a line of the file does, because a tree of 1 MB can take seconds and hundreds of
megabytes. Standard library only.
"""

import ast
import warnings
from collections.abc import Iterator
from types import MappingProxyType
from typing import Final, NamedTuple

WHY: Final = MappingProxyType(
    {
        "ctypes": "calls C functions, which can change anything in the process",
        "native": "compiles or loads native code",
        "dlopen": "loads a library",
        "paths": "names a file below /proc, /sys or /dev",
        "threads": "starts threads: what they do after the call counts for nothing",
        "processes": "starts other processes",
        "streams": "makes streams of its own: each must be joined before the call returns",
        "gc": "walks over the objects of the process",
        "frames": "looks into its callers",
        "pointer_cache": "finds something again by the address or identity of an operand",
        "cache": "remembers what its entry point returned",
        "patches": "replaces something in a module that is not its own",
        "harness": "imports modules of the runner",
        "dynamic": "runs text as code, or imports by a computed name",
        "network": "imports a module for networks",
        "unread": "the file could not be parsed for the review",
    }
)
MOST: Final = 100
"""Flags of one file."""

MODULES: Final = {
    **dict.fromkeys(("ctypes", "cffi", "_ctypes", "mmap"), "ctypes"),
    **dict.fromkeys(("threading", "_thread", "concurrent", "asyncio"), "threads"),
    **dict.fromkeys(("subprocess", "multiprocessing", "pty", "_posixsubprocess"), "processes"),
    **dict.fromkeys(("gc", "weakref"), "gc"),
    **dict.fromkeys(("inspect", "sysconfig"), "frames"),
    **dict.fromkeys(("socket", "urllib", "http", "requests", "httpx", "ssl"), "network"),
    **dict.fromkeys(("worker", "__main__"), "harness"),
    **dict.fromkeys(("importlib", "runpy", "pickle", "marshal"), "dynamic"),
}
NAMES: Final = {
    **dict.fromkeys(("CDLL", "PyDLL", "LoadLibrary", "dlopen", "load_library"), "dlopen"),
    **dict.fromkeys(("load_inline", "cpp_extension", "RawModule", "RawKernel"), "native"),
    **dict.fromkeys(("Thread", "ThreadPoolExecutor", "start_new_thread"), "threads"),
    **dict.fromkeys(("fork", "system", "popen", "posix_spawn", "Popen"), "processes"),
    **dict.fromkeys(("Stream", "ExternalStream", "graph_pool_handle"), "streams"),
    **dict.fromkeys(("get_objects", "get_referrers", "get_referents"), "gc"),
    **dict.fromkeys(("_getframe", "_current_frames", "f_back", "f_locals", "f_globals"), "frames"),
    **dict.fromkeys(("tb_frame", "settrace", "setprofile"), "frames"),
    **dict.fromkeys(("exec", "eval", "compile", "__import__"), "dynamic"),
}
BARE_NAMES: Final = frozenset({"exec", "eval", "compile", "__import__"})
"""Only as names: `torch.compile` and `re.compile` run no text."""
POINTERS: Final = frozenset({"data_ptr", "id", "_cdata", "untyped_storage", "_version"})
LOOKUPS: Final = frozenset({"get", "setdefault", "pop", "add"})
CACHES: Final = frozenset({"cache", "lru_cache"})
ENTRY_POINT: Final = "custom_kernel"
NATIVE_WORDS: Final = {
    "cudaStreamCreate": "streams",
    "cuStreamWaitValue": "streams",
    "dlopen": "dlopen",
    "pthread_create": "threads",
    "std::thread": "threads",
    "mprotect": "ctypes",
}
PATHS: Final = ("/proc/", "/sys/", "/dev/")


class Flag(NamedTuple):
    """One line, and a word of `WHY`."""

    line: int
    word: str


def flags(source: bytes) -> tuple[Flag, ...]:
    """Return what is worth a look, by line, each word once a line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the import shows them
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return (Flag(1, "unread"),)
    found = {Flag(line, word) for line, word in _found(tree)}
    return tuple(sorted(found)[:MOST])


def to_text(found: tuple[Flag, ...]) -> str:
    """Write flags as lines, for a record."""
    return "\n".join(f"{flag.line} {flag.word}" for flag in found)


def from_text(text: str) -> tuple[Flag, ...]:
    """Read them back; what is none is left out."""
    pairs = (line.partition(" ")[::2] for line in text.splitlines())
    return tuple(Flag(int(line), word) for line, word in pairs if line.isdecimal() and word in WHY)


def _found(tree: ast.Module) -> Iterator[tuple[int, str]]:
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    modules, pointers = _modules(tree), _pointer_names(tree)
    native = any(_name(node) in ("load_inline", "RawModule") for node in ast.walk(tree))
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        yield from ((line, word) for word in _words_of_import(node))
        name = _name(node)
        if name in NAMES and (isinstance(node, ast.Name) or name not in BARE_NAMES):
            yield line, NAMES[name]
        if isinstance(node, ast.Constant) and id(node) not in prose:
            yield from ((line, word) for word in _words_of_text(node.value, native))
        if any(_root(target) in modules for target in _replaced(node)):
            yield line, "patches"
        if any(_is_pointer(key, pointers) for key in _keys(node)):
            yield line, "pointer_cache"
        if isinstance(node, ast.FunctionDef) and node.name == ENTRY_POINT:
            yield from ((d.lineno, "cache") for d in node.decorator_list if _caches(d))


def _name(node: ast.AST) -> str:
    """Return the last part of a dotted name, an empty text for anything else."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _root(node: ast.AST) -> str:
    """Return the first part of a dotted name of two parts at least."""
    parts = 0
    while isinstance(node, ast.Attribute):
        node, parts = node.value, parts + 1
    return node.id if isinstance(node, ast.Name) and parts else ""


def _words_of_import(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            paths = [name.name.split(".") for name in names]
        case ast.ImportFrom(module=str(module), names=names):
            paths = [[*module.split("."), name.name] for name in names]
        case _:
            return
    for path in paths:
        if path[0] in MODULES:
            yield MODULES[path[0]]
        yield from (NAMES[part] for part in path[1:] if part in NAMES)


def _modules(tree: ast.Module) -> set[str]:
    """Return the names that modules are bound to."""
    return {
        (name.asname or name.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for name in node.names
    }


def _replaced(node: ast.AST) -> list[ast.expr]:
    """Return what a statement assigns to; `setattr(x, ...)` counts as an assignment to x."""
    match node:
        case ast.Assign(targets=targets):
            return [t for target in targets for t in getattr(target, "elts", [target])]
        case ast.Call(func=ast.Name(id="setattr"), args=[ast.expr() as target, *_]):
            return [ast.Attribute(target, "")]
    return []


def _words_of_text(text: object, native: bool) -> Iterator[str]:
    if isinstance(text, str):
        if f"{text}/".startswith(PATHS) or (native and any(path in text for path in PATHS)):
            yield "paths"
        if native:
            yield from (word for name, word in NATIVE_WORDS.items() if name in text)


def _has_pointer(node: ast.AST) -> bool:
    return any(
        isinstance(part, ast.Call) and _name(part.func) in POINTERS for part in ast.walk(node)
    )


def _pointer_names(tree: ast.Module) -> set[str]:
    """Return the names that something made of an address is assigned to."""
    return {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _has_pointer(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _is_pointer(node: ast.AST, names: set[str]) -> bool:
    return _has_pointer(node) or (isinstance(node, ast.Name) and node.id in names)


def _keys(node: ast.AST) -> list[ast.expr]:
    """Return what a node finds things by."""
    match node:
        case ast.Subscript(slice=key):
            return [key]
        case ast.Compare(left=key, ops=[ast.In() | ast.NotIn()]):
            return [key]
        case ast.Call(func=ast.Attribute(attr=name), args=[key, *_]) if name in LOOKUPS:
            return [key]
    return []


def _caches(decorator: ast.expr) -> bool:
    return any(_name(part) in CACHES for part in ast.walk(decorator))
