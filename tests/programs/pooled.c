// Launches of code that is not rewritten, into a pool that other things fill. argv: where in the pool the launches' memory lies, what is
// around it, what the second launch stores.
#include "cu.h"

static const char *text =
    ".version 6.0\n.target sm_60\n.address_size 64\n"
    ".visible .entry put(.param .u64 to, .param .u32 value) {\n"
    "    .reg .b64 %to;\n    .reg .b32 %value;\n"
    "    ld.param.u64 %to, [to];\n    ld.param.u32 %value, [value];\n    st.global.u32 [%to], %value;\n    ret;\n}\n";

int main(int argc, char **argv) {
    unsigned place = atoi(argv[1]), around = atoi(argv[2]), second = atoi(argv[3]);
    CUmodule module;
    CUfunction put;
    CUdeviceptr pool;
    start();
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&put, module, "put"));
    OK(cuMemAlloc_v2(&pool, 65536));
    OK(cuMemsetD8_v2(pool, around, 65536));
    for (unsigned i = 0; i < 2; i++) {
        CUdeviceptr to = pool + place + 2048 * i;
        unsigned value = i == 1 ? second : 5;
        void *params[] = {&to, &value};
        OK(cuLaunchKernel(put, 1, 1, 1, 1, 1, 1, 0, 0, params, 0));
    }
    OK(cuCtxSynchronize());
    return 0;
}
