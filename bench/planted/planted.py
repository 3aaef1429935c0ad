#!/usr/bin/env python3
"""Plants bottlenecks into a GEMM and checks that `prlx profile` names them: planted.py PRLX

It needs a GPU of sm_90a and nvcc. The kernel is the corpus' warp-specialised GEMM (tests/kernels/cuda/gemm_tma), with a
marker around its end and one fault at a time, selected by a macro. It prints a table, and exits with 1 if an answer is
wrong. The first cause counts, with its CTA or warp where the fault has one.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
STAGE = 24576
# Name, macros, stages, what is to be named, and who.
VARIANTS = [
    ("as it is", [], 8, None, None),
    ("late producer", ["LATE=3000"], 8, "late-producer", "warp 0"),
    ("too few stages", [], 2, "few-stages", None),
    ("slow epilogue", ["EPILOGUE=40000"], 8, "epilogue", "epilogue"),
    ("one slow CTA", ["SLOW=6000"], 8, "slow-cta", "CTA 19"),
]
# What stands once in the corpus' kernel, and what is put behind it. Faults are macros: cycles that the producer waits before each load (LATE), that one
# CTA takes more a tile (SLOW), and that the end takes more (EPILOGUE).
SPIN = "__device__ void spin(int cycles) { for (long long from = clock64(); clock64() - from < cycles;); }"
EDITS = [
    ("#include <cstdint>\n", f'#include "prlx.cuh"\n{SPIN}\n'),
    ("wait(smem(&empty[s]), tile / STAGES & 1 ^ 1);\n", "#ifdef LATE\nspin(LATE);\n#endif\n"),
    ("wait(smem(&full[s]), tile / STAGES & 1);\n", "#ifdef SLOW\nif (blockIdx.x == 3 && blockIdx.y == 1) spin(SLOW);\n#endif\n"),
    (
        'asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");\n',
        "PRLX_REGION(epilogue);\n#ifdef EPILOGUE\nspin(EPILOGUE);\n#endif\n",
    ),
]


def kernel(stages):
    """The corpus' kernel with its faults, and so many stages."""
    text = (ROOT / "tests/kernels/cuda/gemm_tma/kernel.cu").read_text()
    edits = [(find, find + more) for find, more in EDITS] + [("#define STAGES 3\n", f"#define STAGES {stages}\n")]
    for find, put in edits:
        assert text.count(find) == 1, f"{find!r} is not once in the corpus' kernel"
        text = text.replace(find, put)
    return text


def launch(stages):
    """The launch of the overhead suite, of as many CTAs as run at once."""
    text = (ROOT / "bench/overhead/gemm_tma.toml").read_text()
    lines = text.replace("../../tests/kernels/cuda/gemm_tma/sm_90a.ptx", "gemm.ptx").splitlines()
    set_to = {"grid": "[16, 8]", "shared": str(stages * STAGE + 17408)}
    return "\n".join(f"{k} = {set_to[k]}" if (k := line.split("=")[0].strip()) in set_to else line for line in lines)


def profile(prlx, folder, macros, stages):
    """What `prlx profile --json` says of a variant."""
    words = ["nvcc", "-ptx", "-arch=sm_90a", "-lineinfo", "-std=c++17", f"-I{ROOT / 'include'}"]
    words += [f"-D{m}" for m in macros]
    (folder / "gemm.cu").write_text(kernel(stages))
    subprocess.run([*words, folder / "gemm.cu", "-o", folder / "gemm.ptx"], check=True)
    (folder / "launch.toml").write_text(launch(stages))
    words = [prlx, "profile", "--auto", "--json", folder / "launch.toml", "--device", "cuda", "-o", folder / "a.prlx"]
    return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)


def main(prlx):
    """Runs all variants."""
    wrong = 0
    print("| planted | named first | share | what it says |\n|---|---|---|---|")
    for name, macros, stages, kind, who in VARIANTS:
        with tempfile.TemporaryDirectory() as folder:
            said = profile(prlx, pathlib.Path(folder), macros, stages)
        causes = said["analysis"]["causes"]
        first = causes[0] if causes else {"kind": "nothing", "share": 0.0, "text": ""}
        good = kind is None or first["kind"] == kind and (who is None or who in first["text"])
        wrong += not good
        print(f"| {name} | {first['kind']}{'' if good else ', WRONG'} | {100 * first['share']:.0f} % | {first['text']} |")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main(sys.argv[1])
