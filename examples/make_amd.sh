#!/bin/sh
# Compiles the examples' CUDA sources as HIP for gfx942, into their folders `amd`. Needs clang and ld.lld of
# LLVM 22, and no ROCm. `CLANG` names another compiler.
#
# Names are relative, and the folder of the compilation is written as `.`, so the code objects hold no path.
set -eu
cd "$(dirname "$0")"
for amd in */amd; do
    cd "$amd/.."
    for source in *.cu; do
        "${CLANG:-clang-22}" -x hip --offload-device-only --no-gpu-bundle-output -nogpuinc -nogpulib \
            --offload-arch=gfx942 -mcode-object-version=5 -std=c++17 -O2 -gline-tables-only \
            -fdebug-compilation-dir=. -fms-extensions -I ../../tests/kernels/amd/hip -include gpu.h \
            "$source" -o "amd/${source%.cu}.co"
    done
    cd ..
done
