// Launches of code that is not rewritten, into a pool that other things fill. argv: where in the pool the launches' memory lies, what is
// around it, what the second launch stores; `host` for a pool in memory of the host, which ends without a wait, else `device`; and a file: if
// it exists, the program launches another kernel, as one that chooses by time, and otherwise it makes the file.
#include "cu.h"

static const char *text =
    ".version 6.0\n.target sm_60\n.address_size 64\n"
    ".visible .entry put(.param .u64 to, .param .u32 value) {\n"
    "    .reg .b64 %to;\n    .reg .b32 %value;\n"
    "    ld.param.u64 %to, [to];\n    ld.param.u32 %value, [value];\n    st.global.u32 [%to], %value;\n    ret;\n}\n"
    ".visible .entry clear(.param .u64 to, .param .u32 value) {\n"
    "    .reg .b64 %to;\n    ld.param.u64 %to, [to];\n    st.global.u32 [%to], 0;\n    ret;\n}\n";

int main(int argc, char **argv) {
    unsigned place = atoi(argv[1]), around = atoi(argv[2]), second = atoi(argv[3]);
    CUmodule module;
    CUfunction put;
    CUdeviceptr pool;
    start();
    OK(cuModuleLoadData(&module, text));
    FILE *file = argc > 5 ? fopen(argv[5], "r") : NULL;
    OK(cuModuleGetFunction(&put, module, file ? "clear" : "put"));
    if (file || argc > 5) fclose(file ? file : fopen(argv[5], "w"));
    static char memory[65536];
    int host = argc > 4 && !strcmp(argv[4], "host");
    if (host) {
        OK(cuMemHostRegister_v2(memory, sizeof memory, 2));
        OK(cuMemHostGetDevicePointer_v2(&pool, memory, 0));
    } else {
        OK(cuMemAlloc_v2(&pool, sizeof memory));
    }
    OK(cuMemsetD8_v2(pool, around, 65536));
    for (unsigned i = 0; i < 2; i++) {
        CUdeviceptr to = pool + place + 2048 * i;
        unsigned value = i == 1 ? second : 5;
        void *params[] = {&to, &value};
        OK(cuLaunchKernel(put, 1, 1, 1, 1, 1, 1, 0, 0, params, 0));
    }
    OK(host ? cuMemHostUnregister(memory) : cuCtxSynchronize());
    return 0;
}
