"""The Python code of the documentation runs as it is written."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

DOCS = pathlib.Path(__file__).parents[3] / "docs"


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.M | re.S)


@pytest.mark.parametrize("page", ["python.md", "triton.md"])
def test_the_blocks_of_a_page_are_one_program(page, tmp_path):
    program = tmp_path / "page.py"
    program.write_text("\n".join(blocks(page)))
    # Triton's cache would answer with the paths of an earlier run.
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    words = [sys.executable, str(program)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    if page == "triton.md":
        assert "other=0.0" in done.stdout and "num_warps=8" in done.stdout


def test_the_page_on_pytest(tmp_path):
    (tmp_path / "test_kernels.py").write_text(blocks("pytest.md")[0])
    kernels = blocks("triton.md")
    text = "import triton\nimport triton.language as tl\n" + kernels[2].replace("softmax_fixed", "softmax")
    (tmp_path / "kernels.py").write_text(text.split("report =")[0])
    environment = {k: v for k, v in os.environ.items() if k != "CI"}
    words = [sys.executable, "-m", "pytest", "-q", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert "3 passed" in done.stdout, done.stdout


def test_the_cells_of_the_notebook():
    """Runs the cells as Jupyter does: the value of a cell's last expression is what it shows."""
    import ast
    import json

    notebook = json.loads((DOCS / "notebook.ipynb").read_text())
    names, shown = {}, []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [] and cell["execution_count"] is None, "clear the outputs"
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell", "exec"), names)
        if last is not None:
            shown.append(eval(compile(ast.Expression(last.value), "cell", "eval"), names))
    first, report, values, findings, table = shown
    assert first.tolist() == [2, 4, 6, 8, 10]
    page = report._repr_html_()
    assert page.startswith("<iframe srcdoc=") and "n - 2" in page, "the page has the source"
    assert values == ("differs", values[1], 4)
    assert [line for _, line in findings] == [4]
    assert table.verdict == "same" and "block=64" in str(table)


def test_doctests():
    import doctest

    import prlx._compare
    import prlx._device
    import prlx._kernel
    import prlx._names05

    for module in (prlx._compare, prlx._device, prlx._kernel, prlx._names05):
        failed, tried = doctest.testmod(module)
        assert failed == 0 and tried > 0, module
