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


def test_doctests():
    import doctest

    import prlx._compare
    import prlx._device
    import prlx._kernel
    import prlx._names05

    for module in (prlx._compare, prlx._device, prlx._kernel, prlx._names05):
        failed, tried = doctest.testmod(module)
        assert failed == 0 and tried > 0, module
