"""Counts the machine instructions that markers add to a loop, and registers, after NVIDIA's assembler.

    python3 xtask/py/mark_cost.py

It needs ptxas and nvdisasm (PRLX_VENV, by default .venv; `cargo xtask setup`) and cargo. Nothing runs on a GPU.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VENV = os.environ.get("PRLX_VENV", os.path.join(ROOT, ".venv"))

LOOP = """.version 8.0
.target {arch}
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n)
{{
    .reg .pred %p<4>; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [a];
    ld.param.u32 %r1, [n];
    mov.u32 %r3, %tid.x;
    mul.wide.u32 %rd3, %r3, 4;
    add.u64 %rd1, %rd1, %rd3;
    mov.f32 %f1, 0f3F800000;
    mov.u32 %r2, 0;
$loop:
{pragma}
    {first}
    ld.global.f32 %f2, [%rd1];
    {second}
    fma.rn.f32 %f1, %f1, %f1, %f2; fma.rn.f32 %f1, %f1, %f2, %f2;
    fma.rn.f32 %f1, %f1, %f1, %f2; fma.rn.f32 %f1, %f1, %f2, %f2;
    {third}
    add.u32 %r2, %r2, 1;
    add.u64 %rd1, %rd1, 128;
    setp.lt.u32 %p1, %r2, %r1;
    @%p1 bra $loop;
    st.global.f32 [%rd1], %f1;
    ret;
}}
"""
WORD = "{ .reg .b32 $prlx_p0; mov.b32 $prlx_p0, %r2; $prlx_begin_a: }"
CASES = [
    ("begin and end", 2, "", "{ $prlx_begin_a: }", "{ $prlx_end_a: }"),
    ("two regions", 4, "{ $prlx_begin_b: }", "{ $prlx_end_b: } { $prlx_begin_a: }", "{ $prlx_end_a: }"),
    ("two switches", 2, "{ $prlx_switch_b: }", "{ $prlx_switch_a: }", ""),
    ("one moment", 1, "", "{ $prlx_instant_a: }", ""),
    ("begin with a word, and end", 2, "", WORD, "{ $prlx_end_a: }"),
]


def tool(name):
    found = glob.glob(os.path.join(VENV, "lib/python3*/site-packages/nvidia/cu*/bin", name))
    return found[0] if found else sys.exit(f"{name} is not in {VENV}")


def run(command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT)


def loop(ptx, arch):
    """Instructions of the innermost loop, and registers of the kernel."""
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = os.path.join(folder, "k.ptx"), os.path.join(folder, "k.cubin")
        with open(source, "w", encoding="utf-8") as file:
            file.write(ptx)
        said = run([tool("ptxas"), "-arch", arch, "-v", source, "-o", cubin]).stderr
        code = run([tool("nvdisasm"), "-c", cubin]).stdout
    labels, count, best = {}, 0, None
    for line in code.splitlines():
        if label := re.match(r"\s*(\.L_x_\d+):", line):
            labels[label.group(1)] = count
        if re.match(r"\s+/\*[0-9a-f]{4}\*/", line):
            count += 1
            jump = re.search(r"BRA.*(\.L_x_\d+)", line)
            size = count - labels.get(jump.group(1), count) if jump else 0
            best = max(best or 0, size)
    return best, int(re.search(r"Used (\d+) registers", said).group(1))


def main():
    arch = "sm_90"
    table("records", arch, CASES)
    print()
    table("spans", arch, CASES)
    print()
    table("sums", arch, [case for case in CASES if case[0] in ("begin and end", "two regions")])
    print()
    forms("sm_90a")


def forms(arch):
    """The loop of bench/markers, which gpu_markers.py measures, in all its forms: begin and end in a trip."""
    kernels = os.path.join(ROOT, "bench", "markers")
    with open(os.path.join(kernels, "loop.marked.ptx"), encoding="utf-8") as file:
        marked = file.read()
    with open(os.path.join(kernels, "loop.bare.ptx"), encoding="utf-8") as file:
        bare = loop(file.read(), arch)
    with open(os.path.join(kernels, "loop.seed.ptx"), encoding="utf-8") as file:
        all_forms = [("markers, off", marked), ("the seed's scheme", file.read())]
    for form in ("records", "spans", "sums", "ring"):
        command = ["cargo", "run", "--quiet", "-p", "prlx-instrument", "--example", "rewrite_marks", "", form]
        all_forms.insert(-1, (form, run(command, marked).stdout))
    print("| bench/markers/loop | instructions of a trip | instructions a record | registers more |\n|---|---|---|---|")
    for name, text in all_forms:
        now = loop(text, arch)
        print(f"| {name} | {now[0]} | {(now[0] - bare[0]) / 2:.1f} | {now[1] - bare[1]} |")


def table(form, arch, cases):
    print(f"| {form}, in the loop | copies | instructions an endpoint | registers more |\n|---|---|---|---|")
    for name, records, *places in cases:
        for copies, pragma in ((1, '    .pragma "nounroll";'), (4, "")):
            fill = dict(zip(("first", "second", "third"), places), arch=arch, pragma=pragma)
            bare = loop(LOOP.format(**{**fill, "first": "", "second": "", "third": ""}), arch)
            command = ["cargo", "run", "--quiet", "-p", "prlx-instrument", "--example", "rewrite_marks", "", form]
            marked = loop(run(command, LOOP.format(**fill)).stdout, arch)
            each = (marked[0] - bare[0]) / (records * copies)
            print(f"| {name} | {copies} | {each:.2f} | {marked[1] - bare[1]} |")


if __name__ == "__main__":
    main()
