// Kernels with markers: `plain` of tests/cases/marks, by itself and in a graph; and saxpy, which has none.
// argv: its PTX; how often by itself; how often the graph, of two of them; how it ends.
#include <signal.h>
#include <unistd.h>
#include "cu.h"

static CUdeviceptr data;

static void show(const char *what) {
    unsigned host[240], sum = 0;
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH_v2(host, data, sizeof host));
    for (int i = 0; i < 240; i++) sum = sum * 31 + host[i];
    printf("%s %08x\n", what, sum);
    fflush(stdout);
}

int main(int argc, char **argv) {
    CUmodule module, other;
    CUfunction plain, function;
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    unsigned n = 5, many = 32, a = 4;
    float host[240];
    start();
    OK(cuModuleLoad(&module, argv[1]));
    OK(cuModuleGetFunction(&plain, module, "plain"));
    OK(cuModuleLoadData(&other, saxpy("")));
    OK(cuModuleGetFunction(&function, other, "saxpy"));
    OK(cuMemAlloc_v2(&data, sizeof host));
    for (int i = 0; i < 240; i++) host[i] = 0.5f;
    OK(cuMemcpyHtoD_v2(data, host, sizeof host));
    OK(cuStreamCreate(&stream, 1));
    void *params[] = {&data, &n}, *others[] = {&many, &a, &data, &data};

    OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, others, 0));
    for (int i = 0; i < atoi(argv[2]); i++) OK(cuLaunchKernel(plain, 3, 1, 1, 80, 1, 1, 0, i & 1 ? stream : 0, params, 0));
    show("alone");

    if (atoi(argv[3])) {
        OK(cuStreamBeginCapture_v2(stream, 0));
        for (int i = 0; i < 2; i++) OK(cuLaunchKernel(plain, 3, 1, 1, 80, 1, 1, 0, stream, params, 0));
        OK(cuStreamEndCapture(stream, &graph));
        OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
        for (int i = 0; i < atoi(argv[3]); i++) OK(cuGraphLaunch(exec, stream));
        show("captured");
    }
    if (argc > 4 && !strcmp(argv[4], "kill")) usleep(300000), kill(getpid(), SIGKILL);
    return 0;
}
