// Two devices in one process: launches of both, by turns, and a graph on the second.
#include "cu.h"

int main(void) {
    CUcontext contexts[2];
    CUfunction functions[2];
    CUdeviceptr x[2], y[2];
    CUmodule module;
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    unsigned n = 64, host[64];
    start();
    for (int i = 0; i < 2; i++) {
        OK(cuDevicePrimaryCtxRetain(&contexts[i], i));
        OK(cuCtxSetCurrent(contexts[i]));
        OK(cuModuleLoadData(&module, saxpy("")));
        OK(cuModuleGetFunction(&functions[i], module, "saxpy"));
        OK(cuMemAlloc_v2(&x[i], 256));
        OK(cuMemAlloc_v2(&y[i], 256));
        for (unsigned k = 0; k < 64; k++) host[k] = k * (i + 1);
        OK(cuMemcpyHtoD_v2(x[i], host, 256));
        OK(cuMemsetD8_v2(y[i], 0, 256));
    }
    for (unsigned a = 0; a < 10; a++) {
        int i = a % 2;
        void *params[] = {&n, &a, &x[i], &y[i]};
        OK(cuCtxSetCurrent(contexts[i]));
        OK(cuLaunchKernel(functions[i], 2, 1, 1, 32, 1, 1, 0, 0, params, 0));
    }
    unsigned a = 7;
    void *params[] = {&n, &a, &x[1], &y[1]};
    OK(cuStreamCreate(&stream, 0));
    OK(cuStreamBeginCapture_v2(stream, 0));
    OK(cuLaunchKernel(functions[1], 2, 1, 1, 32, 1, 1, 0, stream, params, 0));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 3; i++) OK(cuGraphLaunch(exec, stream));
    for (int i = 0; i < 2; i++) {
        unsigned sum = 0;
        OK(cuCtxSetCurrent(contexts[i]));
        OK(cuCtxSynchronize());
        OK(cuMemcpyDtoH_v2(host, y[i], 256));
        for (int k = 0; k < 64; k++) sum = sum * 31 + host[k];
        printf("device %d: %08x\n", i, sum);
    }
    return 0;
}
