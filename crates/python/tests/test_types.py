"""Types of the package: mypy on its modules and on uses of them, and stubtest on what is installed."""

import importlib.util
import pathlib
import re
import subprocess
import sys
import typing

import prlx
import prlx.schema
import prlx.typing
import pytest
from prlx._command import binary

TESTS = pathlib.Path(__file__).parent
PACKAGE = TESTS.parent
ROOT = PACKAGE.parents[1]
USES = TESTS / "typed_uses.py"


@pytest.fixture(scope="module")
def checkers(tmp_path_factory):
    """mypy and stubtest, which take some seconds each and run at the same time. Returns a function that waits for
    one of them, and returns its exit code and its output."""
    options = ["--config-file", "pyproject.toml", "--cache-dir", tmp_path_factory.mktemp("mypy")]
    installed = ["prlx", "--mypy-config-file", "pyproject.toml", "--concise"]
    commands = {
        "mypy": [*options, "--no-error-summary", "python/prlx", USES],
        "mypy.stubtest": [*installed, "--allowlist", TESTS / "stubtest_allow.txt"],
    }
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    running = {
        name: subprocess.Popen([sys.executable, "-m", name, *map(str, words)], cwd=PACKAGE, **pipe)
        for name, words in commands.items()
    }

    def done(name):
        output = running[name].communicate()[0]
        return running[name].returncode, output

    yield done
    for process in running.values():
        process.kill()
        process.wait()


def test_mypy_accepts_the_package_and_right_uses_and_no_wrong_ones(checkers):
    status, output = checkers("mypy")
    found = {}
    for line in output.splitlines():
        if error := re.fullmatch(r"(.+?):(\d+): error: .*\[([\w-]+)\]", line):
            assert error[1] == f"tests/{USES.name}", line
            found[int(error[2]), error[3]] = line
    lines = enumerate(USES.read_text().splitlines(), 1)
    marks = ((number, re.search(r"# wrong: (\S+)$", line)) for number, line in lines)
    wanted = {(number, mark[1]) for number, mark in marks if mark}
    assert status == 1 and len(wanted) > 40, output
    assert [line for key, line in found.items() if key not in wanted] == []
    assert sorted(wanted - set(found)) == [], "these lines have no such error"


def test_stubs_are_what_is_installed(checkers):
    status, output = checkers("mypy.stubtest")
    assert status == 0, output


def test_types_of_reports_are_those_of_the_schema():
    path = ROOT / "xtask/py/report_types.py"
    spec = importlib.util.spec_from_file_location("report_types", path)
    report_types = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(report_types)
    written = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True).stdout
    assert pathlib.Path(prlx.schema.__file__).read_text() == written, (
        "run python xtask/py/report_types.py > crates/python/python/prlx/schema.py"
    )


def test_reports_have_the_attributes_of_their_types():
    folder = ROOT / "examples/threshold"
    report = prlx.compare(folder / "good.toml", folder / "bad.toml", check="all")
    assert set(report.data) <= set(prlx.schema.Report.__annotations__) | {"verdict"}
    assert set(report.data) <= set(prlx.Report.__annotations__) | {"verdict"}
    compare(report.data, prlx.schema.Report)


def compare(data, protocol):
    """Compares JSON with a protocol, and the objects in it with theirs."""
    types = typing.get_type_hints(protocol, vars(prlx.schema))
    keys = {f"{key}_" if f"{key}_" in types else key for key in data}
    assert keys <= set(types), f"{protocol.__name__} has no {keys - set(types)}"
    for key, value in data.items():
        inner = [t for t in arguments(types.get(f"{key}_", types.get(key))) if hasattr(t, "_is_protocol")]
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict) and inner:
                compare(part, inner[0])


def arguments(type):
    """A type, and the types in it."""
    yield type
    for part in typing.get_args(type):
        yield from arguments(part)


@pytest.mark.parametrize("command", ["record", "repeat", "probe", "profile", "convert"])
def test_options_of_commands_are_those_of_the_program(command):
    """`color` and the like are options of every command. The package itself passes `output` of `record` and
    `convert`, `json`, and the program of `probe`."""
    words = [binary("prlx"), command, "--help"]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    flags = set(re.findall(r"^ +(?:-\w, )?--([\w-]+)", text, re.M)) - {"help", "json"}
    flags -= {"record": {"output"}, "convert": {"output"}, "probe": {"file"}}.get(command, set())
    options = getattr(prlx.typing, f"{command.title()}Options").__annotations__
    assert {name.rstrip("_").replace("_", "-") for name in options} == flags


def test_checks_and_levels_are_those_of_the_package():
    for name in typing.get_args(prlx.typing.CheckName):
        prlx.cpu(check=name)
    for name in typing.get_args(prlx.typing.ArchName):
        prlx.cpu(name)
    with pytest.raises(ValueError, match="check") as error:
        prlx.cpu(check="none of them")
    names = set(typing.get_args(prlx.typing.CheckName))
    assert names <= set(re.findall(r"\w+", str(error.value))), str(error.value)
    with pytest.raises(prlx.Error, match="the levels are") as error:
        folder = ROOT / "examples/threshold"
        prlx.compare(folder / "good.toml", folder / "bad.toml", level="none of them")
    levels = str(error.value).partition("the levels are ")[2].split(", ")
    assert set(levels) == set(typing.get_args(prlx.typing.Level))
