// What the mock promises of order: nothing is done before somebody waits, streams are kept apart or joined as CUDA says,
// captures are broken by calls that could wait.
#include "cu.h"

int prlx_mock_hold(uint64_t stream, int held);

int main(void) {
    CUdeviceptr x, y;
    CUstream one, two, free_;
    CUevent event;
    CUmodule module;
    CUfunction function;
    unsigned a = 2, n = 64, *host, plain[64];
    IS(3, cuCtxSynchronize());
    start();
    OK(cuModuleLoadData(&module, saxpy("")));
    OK(cuModuleGetFunction(&function, module, "saxpy"));
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuMemAlloc_v2(&y, 256));
    OK(cuMemHostAlloc((void **)&host, 256, 0));
    OK(cuStreamCreate(&one, 0));
    OK(cuStreamCreate(&two, 0));
    OK(cuStreamCreate(&free_, 1));
    OK(cuEventCreate(&event, 0));
    void *params[] = {&n, &a, &x, &y};
#define LAUNCH(stream) OK(cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, stream, params, 0))

    // Pinned memory is read when it is time, other memory at once.
    for (int i = 0; i < 64; i++) host[i] = plain[i] = 1;
    OK(cuMemcpyHtoDAsync_v2(x, host, 256, one));
    OK(cuMemcpyHtoDAsync_v2(y, plain, 256, one));
    for (int i = 0; i < 64; i++) host[i] = plain[i] = 3;
    IS(600, cuStreamQuery(one));
    OK(cuStreamSynchronize(one));
    OK(cuMemcpyDtoH_v2(plain, x, 256));
    TRUE(plain[0] == 1 || plain[0] == 3);
    OK(cuMemcpyDtoH_v2(plain, y, 256));
    TRUE(plain[0] == 1);

    // Nothing is done before it is waited for; an event makes another stream wait.
    OK(cuMemsetD8_v2(x, 0, 256));
    OK(cuMemsetD8_v2(y, 0, 256));
    for (int i = 0; i < 64; i++) host[i] = 7;
    OK(cuMemcpyHtoDAsync_v2(x, host, 256, free_));
    OK(cuEventRecord(event, free_));
    OK(cuStreamWaitEvent(two, event, 0));
    LAUNCH(two);
    OK(cuMemcpyDtoHAsync_v2(host, y, 256, two));
    TRUE(host[0] == 7);
    IS(600, cuEventQuery(event));
    OK(cuEventQuery(event));
    TRUE(host[0] == 7);
    OK(cuStreamSynchronize(two));
    TRUE(host[0] == 19 && host[63] == 19);

    // The legacy stream waits for the others, and they for it, but for one that is free of it.
    OK(cuMemsetD8Async(y, 1, 256, one));
    OK(cuMemsetD8Async(x, 2, 256, free_));
    OK(cuMemcpyDtoH_v2(plain, y, 256));
    TRUE(plain[0] == 0x01010101);
    OK(cuMemcpyDtoH_v2(plain, x, 256));
    TRUE(plain[0] == 7);
    OK(cuStreamSynchronize(free_));
    OK(cuMemcpyDtoH_v2(plain, x, 256));
    TRUE(plain[0] == 0x02020202);

    // A stream that is held back keeps back who waits for it, and nobody else.
    prlx_mock_hold((uint64_t)one, 1);
    OK(cuMemsetD8Async(y, 3, 256, one));
    OK(cuEventRecord(event, one));
    OK(cuStreamWaitEvent(two, event, 0));
    OK(cuMemsetD8Async(y, 4, 256, two));
    for (int i = 0; i < 5; i++) IS(600, cuEventQuery(event));
    OK(cuStreamSynchronize(free_));
    prlx_mock_hold((uint64_t)one, 0);
    OK(cuStreamSynchronize(two));
    OK(cuMemcpyDtoH_v2(plain, y, 256));
    TRUE(plain[0] == 0x04040404);

    // A captured stream's work is written down. Waiting for it breaks the capture.
    CUgraph graph;
    CUgraphExec exec;
    int status, mode = 2;
    OK(cuStreamBeginCapture_v2(one, 0));
    LAUNCH(one);
    OK(cuStreamIsCapturing(one, &status));
    TRUE(status == 1);
    IS(900, cuStreamSynchronize(one));
    OK(cuStreamIsCapturing(one, &status));
    TRUE(status == 2);
    IS(901, cuStreamEndCapture(one, &graph));
    for (int i = 0; i < 5; i++) {
        CUdeviceptr more = 0;
        OK(cuStreamBeginCapture_v2(one, 0));
        LAUNCH(one);
        switch (i) {
        case 0: IS(900, cuMemAlloc_v2(&more, 8)); break;
        case 1: IS(900, cuEventQuery(event)); break;
        case 2: IS(900, cuModuleLoadData(&module, saxpy(""))); break;
        case 3: IS(906, cuMemcpyDtoH_v2(plain, x, 256)); break;
        case 4: IS(906, cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, 0, params, 0)); break;
        }
        IS(901, cuStreamEndCapture(one, &graph));
    }
    // Who says that it knows what it does may. A stream that joined must come back.
    OK(cuStreamBeginCapture_v2(one, 0));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    TRUE(mode == 0);
    CUdeviceptr more;
    OK(cuMemAlloc_v2(&more, 8));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    LAUNCH(one);
    OK(cuEventRecord(event, one));
    OK(cuStreamWaitEvent(two, event, 0));
    LAUNCH(two);
    IS(904, cuStreamEndCapture(one, &graph));

    // Replays.
    OK(cuMemsetD8_v2(y, 0, 256));
    OK(cuMemsetD8_v2(x, 0, 256));
    OK(cuStreamBeginCapture_v2(one, 0));
    LAUNCH(one);
    for (int i = 0; i < 64; i++) host[i] = 1;
    OK(cuMemcpyHtoDAsync_v2(x, host, 256, one));
    OK(cuStreamEndCapture(one, &graph));
    OK(cuMemcpyDtoH_v2(plain, y, 256));
    TRUE(plain[0] == 0);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 100; i++) OK(cuGraphLaunch(exec, two));
    OK(cuStreamSynchronize(two));
    OK(cuMemcpyDtoH_v2(plain, y, 256));
    TRUE(plain[5] == 99 * 7);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuMemFree_v2(x));
    IS(1, cuMemFree_v2(x));
    // A fault is told by a later call, and by every one after.
    LAUNCH(one);
    IS(700, cuStreamSynchronize(one));
    IS(700, cuMemAlloc_v2(&more, 8));
    puts("as promised");
    return 0;
}
