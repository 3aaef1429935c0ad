#!/bin/sh
# Makes the code objects of this folder again, with LLVM 22, zstd and Python: sh make.sh
set -e
cd "$(dirname "$0")"
clang="clang-22 -target amdgcn-amd-amdhsa -nogpulib -O2"

for target in gfx90a gfx942 gfx950 gfx1030 gfx1100 gfx1201; do
  $clang -mcpu=$target -mcode-object-version=5 vecadd.c -o vecadd.$target.co
done

for target in gfx942 gfx1100 gfx1201; do
  $clang -mcpu=$target -mcode-object-version=5 -gline-tables-only -ffile-compilation-dir=. control.c \
    -o control.$target.co
done

for target in gfx942 gfx1100; do
  $clang -mcpu=$target -mcode-object-version=5 -gline-tables-only -ffile-compilation-dir=. calls.c \
    -o calls.$target.co
done

hip="clang-22 -x hip --offload-device-only --no-gpu-bundle-output -nogpuinc -nogpulib -mcode-object-version=5 -O2"
hip="$hip -std=c++17 -gline-tables-only -fdebug-compilation-dir=. -fms-extensions -include gpu.h"
corpus="$hip -I ../../amd/hip"
hip="$hip -I hip"
for target in gfx942 gfx1100; do
  for kernel in softmax histogram signs ties; do
    $hip --offload-arch=$target -DWRONG=0 $kernel.hip -o $kernel.good.$target.co
    $hip --offload-arch=$target -DWRONG=1 $kernel.hip -o $kernel.bad.$target.co
  done
  for kernel in elements operations; do
    $hip --offload-arch=$target $kernel.hip -o $kernel.$target.co
  done
done
for target in gfx90a gfx1100; do
  $hip --offload-arch=$target -DWRONG=0 causes.hip -o causes.good.$target.co
done
$hip --offload-arch=gfx1100 -DWRONG=1 causes.hip -o causes.bad.gfx1100.co
for target in gfx90a gfx942 gfx950 gfx1030 gfx1100 gfx1201; do
  $hip -I ../../../include --offload-arch=$target roles.hip -o roles.$target.co
done
$hip -I ../../../include --offload-arch=gfx1100 -mwavefrontsize64 roles.hip -o roles.gfx1100-wave64.co

$hip --offload-arch=gfx90a lds_loads.hip -o staged.gfx90a.co
$hip --offload-arch=gfx942 lds_loads.hip -o staged.gfx942.co
$hip --offload-arch=gfx950 -DBYTES=16 lds_loads.hip -o staged.gfx950.co
for target in gfx90a gfx942 gfx1030 gfx1100 gfx1201; do
  $hip --offload-arch=$target pick.hip -o pick.$target.co
done
for target in gfx90a gfx942 gfx1030 gfx1100 gfx1100-wave64 gfx1201; do
  wide=
  test $target != gfx1100-wave64 || wide=-mwavefrontsize64
  $hip --offload-arch=${target%-*} $wide -DFIXED=0 init.hip -o init.bad.$target.co
  $hip --offload-arch=${target%-*} $wide -DFIXED=1 init.hip -o init.good.$target.co
done

for target in gfx90a gfx942 gfx1030 gfx1100 gfx1201; do
  $hip --offload-arch=$target swaps.hip -o swaps.$target.co
  $hip --offload-arch=$target releases.hip -o releases.$target.co
done

# Kernels of the corpus, as `cargo xtask amd-corpus` compiles them.
names="dot_double gemm_tiled histogram_shared integer_division math64 reduce_atomic reduce_tree scan_warp softmax"
for kernel in $names; do
  (cd ../cuda/$kernel && $corpus --offload-arch=gfx942 kernel.cu -o ../../amd/corpus/$kernel.gfx942.co)
done

# The compiler warns that the copies of the kernels that only other kernels could call use LDS.
cl="$clang -cl-std=CL2.0 -cl-kernel-arg-info -ffunction-sections -Wl,--gc-sections -w"
$cl -mcpu=gfx1030 -mcode-object-version=4 parts.cl -o parts.gfx1030.co
$cl -mcpu=gfx1100 -mwavefrontsize64 -mcode-object-version=5 parts.cl -o parts.gfx1100.co
$cl -mcpu=gfx942:xnack+ -mcode-object-version=6 parts.cl -o parts.gfx942.co

for source in descriptors.*.s; do
  target=${source#descriptors.}
  target=${target%.s}
  llvm-mc-22 -triple=amdgcn-amd-amdhsa -mcpu=$target -filetype=obj $source -o descriptors.o
  ld.lld-22 -shared descriptors.o -o descriptors.$target.co
  rm descriptors.o
done
for target in gfx942 gfx1100; do
  wave=
  test $target = gfx942 || wave=-mattr=+wavefrontsize32
  llvm-mc-22 -triple=amdgcn-amd-amdhsa -mcpu=$target $wave -filetype=obj indexed.$target.s -o indexed.o
  ld.lld-22 -shared indexed.o -o indexed.$target.co
  rm indexed.o
done
for target in gfx90a gfx942 gfx950 gfx1100 gfx1201; do
  source=hazards.$target.s
  wave=
  test -e $source || source=hazards.cdna.s
  test $target != gfx1100 || wave=+wavefrontsize64
  test $target != gfx1201 || wave=+wavefrontsize32
  llvm-mc-22 -triple=amdgcn-amd-amdhsa -mcpu=$target -mattr=$wave -g -fdebug-compilation-dir=. -filetype=obj $source \
    -o hazards.o
  ld.lld-22 -shared hazards.o -o hazards.$target.co
  rm hazards.o
done
llvm-mc-22 -triple=amdgcn-amd-amdhsa -mcpu=gfx942 -filetype=obj lds_loads.gfx942.s -o lds_loads.o
ld.lld-22 -shared lds_loads.o -o lds_loads.gfx942.co
rm lds_loads.o
llvm-mc-22 -triple=amdgcn-amd-amdhsa -mcpu=gfx942 -filetype=obj waves.gfx942.s -o waves.o
ld.lld-22 -shared waves.o -o waves.gfx942.co
rm waves.o
llvm-mc-22 -triple=amdgcn-amd-amdhsa -mcpu=gfx942 -filetype=obj jumps.gfx942.s -o jumps.o
ld.lld-22 -shared jumps.o -o jumps.gfx942.co
rm jumps.o
for target in gfx90a gfx942 gfx1030 gfx1100; do
  wide=+wavefrontsize64
  test $target != gfx90a -a $target != gfx942 || wide=
  llvm-mc-22 -triple=amdgcn-amd-amdhsa -mcpu=$target -mattr=$wide -filetype=obj full.s -o full.o
  ld.lld-22 -shared full.o -o full.$target.co
  rm full.o
done
python3 bundle.py first.hipfb zstd gfx90a=vecadd.gfx90a.co gfx1201=vecadd.gfx1201.co
python3 bundle.py second.hipfb zlib gfx1100=vecadd.gfx1100.co
python3 bundle.py third.hipfb zstd gfx1030=vecadd.gfx1030.co
llvm-mc-22 -triple=x86_64-unknown-linux-gnu -filetype=obj program.s -o program.o
ld.lld-22 -shared program.o -o program.so
rm program.o first.hipfb second.hipfb third.hipfb
chmod 644 *.co program.so
