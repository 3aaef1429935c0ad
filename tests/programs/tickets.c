// Launches whose CTAs take their work from a counter, as CUB's and Triton's persistent kernels do: which CTA does which
// tile depends on the order of threads. argv: where results go (tile: by the tile, the same in every order; cta: by the
// CTA; sum: all CTAs add to one sum instead, and nothing else), and how many launches there are.
#include "cu.h"

static const char take[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry take(.param .u64 counter, .param .u64 lengths, .param .u64 out, .param .u32 by_cta) {\n"
    ".reg .pred %p<4>;\n.reg .b32 %r<12>;\n.reg .b64 %rd<9>;\n"
    ".shared .align 4 .b32 tile;\n"
    "ld.param.u64 %rd1, [counter];\nld.param.u64 %rd2, [lengths];\nld.param.u64 %rd3, [out];\n"
    "ld.param.u32 %r1, [by_cta];\nmov.u32 %r2, %tid.x;\nmov.u32 %r3, %ctaid.x;\n"
    "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra wait;\n"
    "atom.global.add.u32 %r4, [%rd1], 1;\nst.shared.u32 [tile], %r4;\n"
    "wait:\nbar.sync 0;\nld.shared.u32 %r5, [tile];\n"
    "mul.wide.u32 %rd4, %r5, 4;\nadd.u64 %rd5, %rd2, %rd4;\nld.global.u32 %r6, [%rd5];\n"
    "mov.u32 %r7, 0;\nmov.u32 %r8, 0;\n"
    "again:\nmad.lo.u32 %r8, %r8, 3, %r2;\nadd.u32 %r7, %r7, 1;\n"
    "setp.lt.u32 %p2, %r7, %r6;\n@%p2 bra again;\n"
    "setp.ne.u32 %p3, %r1, 0;\nselp.u32 %r9, %r3, %r5, %p3;\n"
    "mad.lo.u32 %r10, %r9, 32, %r2;\nmul.wide.u32 %rd6, %r10, 4;\nadd.u64 %rd7, %rd3, %rd6;\n"
    "st.global.u32 [%rd7], %r8;\nret;\n}\n";

static const char add[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry add(.param .u64 sum) {\n.reg .b32 %r<2>;\n.reg .f32 %f<3>;\n.reg .b64 %rd<2>;\n"
    ".file 1 \"add.cu\"\n"
    "ld.param.u64 %rd1, [sum];\nmov.u32 %r1, %ctaid.x;\n"
    "cvt.rn.f32.u32 %f1, %r1;\nadd.f32 %f1, %f1, 0f3F8CCCCD;\nrcp.rn.f32 %f2, %f1;\n"
    ".loc 1 7 1\nred.global.add.f32 [%rd1], %f2;\nret;\n}\n";

int main(int argc, char **argv) {
    enum { CTAS = 8 };
    unsigned by_cta = !strcmp(argv[1], "cta"), sums = !strcmp(argv[1], "sum");
    unsigned lengths[CTAS] = {3, 9, 1, 7, 2, 8, 4, 6};
    CUmodule module;
    CUfunction function;
    CUdeviceptr counter, tiles, out;
    start();
    OK(cuModuleLoadData(&module, sums ? add : take));
    OK(cuModuleGetFunction(&function, module, sums ? "add" : "take"));
    OK(cuMemAlloc_v2(&counter, 4));
    OK(cuMemAlloc_v2(&tiles, sizeof lengths));
    OK(cuMemAlloc_v2(&out, CTAS * 32 * 4));
    OK(cuMemcpyHtoD_v2(tiles, lengths, sizeof lengths));
    OK(cuMemsetD8_v2(out, 0, CTAS * 32 * 4));
    void *params[] = {sums ? &out : &counter, &tiles, &out, &by_cta};
    for (int i = 0; i < atoi(argv[2]); i++) {
        OK(cuMemsetD8_v2(counter, 0, 4));
        OK(cuLaunchKernel(function, CTAS, 1, 1, 32, 1, 1, 0, 0, params, 0));
        OK(cuCtxSynchronize());
    }
    return 0;
}
