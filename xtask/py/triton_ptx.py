"""Compiles one Triton source for one architecture and prints its PTX: triton_ptx.py FILE sm_80|sm_90a.

The file's BUILD table says what to compile; tests/kernels/README.md describes it. No GPU and no torch are needed.
The first line of the output holds what a launch must know and PTX does not say.
"""

import sys
import types

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.errors import CompilationError

KEYS = {"kernel", "signature", "constexprs", "num_warps", "num_stages", "aligned", "enable_fp_fusion"}


def load(path):
    """The file as a module, known by its relative name so that no folder gets into the line table."""
    module = types.ModuleType("kernel")
    module.__file__ = path
    sys.modules["kernel"] = module
    with open(path) as file:
        exec(compile(file.read(), path, "exec"), module.__dict__)
    return module


def source(build):
    """What triton.compile takes. Pointers count as aligned to 16 bytes, as those of real launches are."""
    kernel, types_ = build["kernel"], dict(build["signature"])
    constexprs = dict(build.get("constexprs", {}))
    names = kernel.arg_names
    missing = [n for n in names if n not in types_ and n not in constexprs]
    if missing:
        raise SystemExit(f"BUILD says nothing about {', '.join(missing)}")
    aligned = build.get("aligned", [])
    attrs = {
        (i,): [["tt.divisibility", 16]] for i, n in enumerate(names) if types_.get(n, "").startswith("*") or n in aligned
    }
    signature = {n: types_.get(n, "constexpr") for n in names}
    return ASTSource(kernel, signature, {(names.index(n),): v for n, v in constexprs.items()}, attrs)


def main():
    path, arch = sys.argv[1:]
    build = load(path).BUILD
    unknown = set(build) - KEYS
    if unknown:
        raise SystemExit(f"BUILD has unknown keys: {', '.join(sorted(unknown))}")
    options = {k: build[k] for k in ("num_warps", "num_stages", "enable_fp_fusion") if k in build}
    target = GPUTarget("cuda", int(arch.removeprefix("sm_").rstrip("a")), 32)
    try:
        compiled = triton.compile(source(build), target=target, options=options)
    except CompilationError as error:  # its traceback is of the compiler, its text of the kernel
        raise SystemExit(f"{error}\n{error.__cause__ or ''}") from None
    m = compiled.metadata
    print(
        f"// corpus: shared {m.shared} num_warps {m.num_warps} "
        f"global_scratch {m.global_scratch_size} profile_scratch {m.profile_scratch_size}"
    )
    print(compiled.asm["ptx"], end="")


main()
