// A kernel that copies tiles by tensor maps (TMA), as XLA's, Triton's and CUTLASS's do. Its parameters are encoded by
// the program. argv: the operation on each element (add or sub).
#include "cu.h"

static const char code[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry tiles(.param .align 64 .b8 x[128], .param .align 64 .b8 y[128]) {\n"
    ".reg .pred %%p<3>;\n.reg .b32 %%r<8>;\n.reg .f32 %%f<3>;\n.reg .b64 %%rd<6>;\n"
    ".shared .align 128 .b8 tile[256];\n.shared .align 8 .b64 bar;\n.file 1 \"tiles.cu\"\n"
    "mov.b64 %%rd1, x;\ncvta.param.u64 %%rd2, %%rd1;\nmov.b64 %%rd3, y;\ncvta.param.u64 %%rd4, %%rd3;\n"
    "mov.u32 %%r1, tile;\nmov.u32 %%r2, bar;\nmov.u32 %%r3, %%tid.x;\nmov.u32 %%r4, %%ctaid.x;\nshl.b32 %%r4, %%r4, 3;\n"
    "setp.ne.u32 %%p1, %%r3, 0;\n@%%p1 bra loaded;\n"
    "mbarrier.init.shared.b64 [%%r2], 1;\nfence.proxy.async.shared::cta;\n"
    "mbarrier.arrive.expect_tx.shared.b64 %%rd5, [%%r2], 256;\n"
    ".loc 1 5 1\n"
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%%r1], [%%rd2, {%%r4, 0}], [%%r2];\n"
    "loaded:\nbar.sync 0;\n"
    "wait:\nmbarrier.try_wait.parity.shared.b64 %%p2, [%%r2], 0;\n@!%%p2 bra wait;\n"
    "shl.b32 %%r5, %%r3, 2;\nadd.u32 %%r6, %%r1, %%r5;\nld.shared.f32 %%f1, [%%r6];\n"
    ".loc 1 7 1\n%s.f32 %%f2, %%f1, 0f3F800000;\n.loc 1 8 1\nst.shared.f32 [%%r6], %%f2;\n"
    "fence.proxy.async.shared::cta;\nbar.sync 0;\n@%%p1 bra stored;\n"
    "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%%rd4, {%%r4, 0}], [%%r1];\n"
    "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nstored:\nret;\n}\n";

int main(int argc, char **argv) {
    enum { COLUMNS = 32, ROWS = 8 };
    static float data[ROWS * COLUMNS];
    static char text[1 << 12], x[128] __attribute__((aligned(64))), y[128] __attribute__((aligned(64)));
    CUmodule module;
    CUfunction function;
    CUdeviceptr memory;
    uint64_t sizes[] = {COLUMNS, ROWS}, strides[] = {COLUMNS * 4};
    uint32_t tile[] = {8, ROWS}, steps[] = {1, 1};
    for (int i = 0; i < ROWS * COLUMNS; i++)
        data[i] = i;
    start();
    snprintf(text, sizeof text, code, argv[1]);
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&function, module, "tiles"));
    OK(cuMemAlloc_v2(&memory, 2 * sizeof data));
    OK(cuMemcpyHtoD_v2(memory, data, sizeof data));
    OK(cuMemsetD8_v2(memory + sizeof data, 0, sizeof data));
    OK(cuTensorMapEncodeTiled(x, 7, 2, (void *)memory, sizes, strides, tile, steps, 0, 0, 0, 0));
    OK(cuTensorMapEncodeTiled(y, 7, 2, (void *)(memory + sizeof data), sizes, strides, tile, steps, 0, 0, 0, 0));
    void *params[] = {x, y};
    OK(cuLaunchKernel(function, COLUMNS / 8, 1, 1, 64, 1, 1, 0, 0, params, 0));
    OK(cuCtxSynchronize());
    return 0;
}
