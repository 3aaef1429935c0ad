// A chain of launches, each from what the one before left. argv: which of them is another kernel of the same name, how the
// parameters come (one, buffer; padded: in a structure, for which what lies in its padding comes last), whether its module can
// be rewritten (new, old), what else is launched (graph), how many of them there are, and how many CTAs each has. With
// OTHER_BUILD, its kernels have other code and do the same; with FAULT, the other kernel reads and writes far away.
#include "cu.h"

static void replace(char *text, const char *from, const char *to) {
    char *at = strstr(text, from);
    memmove(at + strlen(to), at + strlen(from), strlen(at + strlen(from)) + 1);
    memcpy(at, to, strlen(to));
}

int main(int argc, char **argv) {
    int wrong = argc > 1 ? atoi(argv[1]) : -1, buffers = argc > 2 && !strcmp(argv[2], "buffer");
    int padded = argc > 2 && !strcmp(argv[2], "padded"), padding = padded && argc > 4 ? atoi(argv[4]) : 0;
    int old = argc > 3 && !strcmp(argv[3], "old"), graphs = argc > 4 && !strcmp(argv[4], "graph");
    int launches = argc > 5 ? atoi(argv[5]) : 6, ctas = argc > 6 ? atoi(argv[6]) : 2;
    CUmodule modules[2];
    CUfunction functions[2];
    CUstream stream;
    CUdeviceptr data;
    unsigned n = 64, host[256];
    start();
    for (int i = 0; i < 2; i++) {
        char *text = saxpy("");
        // Another number is added where x is odd.
        if (i) memcpy(strstr(text, "bias = 5"), "bias = 6", 8);
#ifdef OTHER_BUILD
        // The same by other instructions.
        replace(text, "setp.eq.u32 %p2, %r10, 0;\n@%p2", "setp.ne.u32 %p2, %r10, 0;\n@!%p2");
#endif
#ifdef FAULT
        if (i) replace(text, "mul.wide.u32 %rd3, %r6, 4;", "mul.wide.u32 %rd3, %r6, 400000000;");
#endif
        if (padded) {
            replace(text, "(.param .u32 n, .param .u32 a, .param .u64 x, .param .u64 y)", "(.param .align 8 .b8 all[40])");
            replace(text, "[n]", "[all]");
            replace(text, "[a]", "[all+24]");
            replace(text, "[x]", "[all+8]");
            replace(text, "[y]", "[all+16]");
        }
        if (old) memcpy(strstr(text, "sm_80"), "sm_60", 5);
        OK(cuModuleLoadData(&modules[i], text));
        OK(cuModuleGetFunction(&functions[i], modules[i], "saxpy"));
    }
    OK(cuStreamCreate(&stream, 1));
    // Four arrays in one allocation, which does not begin with them.
    OK(cuMemAlloc_v2(&data, 32 + sizeof host));
    data += 32;
    for (int i = 0; i < 256; i++) host[i] = i * 3;
    OK(cuMemcpyHtoD_v2(data, host, sizeof host));
    for (int i = 0; i < launches; i++) {
        struct { unsigned n, a; CUdeviceptr x, y; } all = {n, 3, data + 256 * (i % 4), data + 256 * ((i + 1) % 4)};
        size_t length = sizeof all;
        void *params[] = {&all.n, &all.a, &all.x, &all.y}, *extra[] = {(void *)1, &all, (void *)2, &length, 0};
        // Behind n and a.
        struct { unsigned n, pad; CUdeviceptr x, y; unsigned a, more; char flag, rest[7]; } part = {n, padding, all.x, all.y, 3};
        memset(&part.more, padding, 4 + sizeof part.rest + 1);
        void *whole[] = {&part};
        CUfunction function = functions[i == wrong];
        OK(cuLaunchKernel(function, ctas, 1, 1, 32, 1, 1, 0, stream, buffers ? 0 : padded ? whole : params, buffers ? extra : 0));
    }
    if (graphs) {
        CUgraph graph;
        CUgraphExec exec;
        unsigned a = 1;
        CUdeviceptr y = data + 256;
        void *params[] = {&n, &a, &data, &y};
        OK(cuStreamBeginCapture_v2(stream, 0));
        OK(cuLaunchKernel(functions[0], 2, 1, 1, 32, 1, 1, 0, stream, params, 0));
        OK(cuStreamEndCapture(stream, &graph));
        OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
        OK(cuGraphLaunch(exec, stream));
    }
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH_v2(host, data, sizeof host));
    unsigned sum = 0;
    for (int i = 0; i < 256; i++) sum = sum * 31 + host[i];
    printf("%08x\n", sum);
    return 0;
}
