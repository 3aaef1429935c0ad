"""The Python code of docs/pytorch.md runs as it is written."""

import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).parents[4] / "docs/pytorch.md"


def test_the_blocks_of_the_page_are_one_program(tmp_path):
    program = tmp_path / "page.py"
    program.write_text("\n".join(re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)))
    done = subprocess.run([sys.executable, str(program)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "first      forward: 1.act (GELU), output" in done.stdout
    assert "step 8: forward: the output of 0.norm has NaN" in done.stdout
