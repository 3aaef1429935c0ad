// Launches of code that is not rewritten, that nobody waits for: their memory is freed, and their streams are destroyed. argv: what
// the last of them stores.
#include "cu.h"

static const char *text =
    ".version 6.0\n.target sm_60\n.address_size 64\n"
    ".visible .entry put(.param .u64 to, .param .u32 value) {\n"
    "    .reg .b64 %to;\n    .reg .b32 %value;\n"
    "    ld.param.u64 %to, [to];\n    ld.param.u32 %value, [value];\n    st.global.u32 [%to], %value;\n    ret;\n}\n"
    ".visible .entry nothing(.param .u32 value) {\n    ret;\n}\n";

int main(int argc, char **argv) {
    unsigned last = atoi(argv[1]);
    CUmodule module;
    CUfunction put, nothing;
    start();
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&put, module, "put"));
    OK(cuModuleGetFunction(&nothing, module, "nothing"));
    for (unsigned i = 0; i < 3; i++) {
        CUstream stream;
        CUdeviceptr to;
        unsigned value = i == 2 ? last : i;
        void *params[] = {&to, &value};
        OK(cuStreamCreate(&stream, 1));
        OK(cuMemAlloc_v2(&to, 64));
        OK(cuMemsetD8_v2(to, 0, 64));
        OK(cuLaunchKernel(put, 1, 1, 1, 1, 1, 1, 0, stream, params, 0));
        if (i != 1) OK(cuMemFree_v2(to));
        OK(cuStreamDestroy_v2(stream));
    }
    unsigned value = 7;
    void *params[] = {&value};
    for (int i = 0; i < 2; i++) OK(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, 0, params, 0));
    return 0;
}
