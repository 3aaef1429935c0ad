// Queues more launches than have room for digests, in a stream that another thread lets go on later.
#include <pthread.h>
#include <unistd.h>
#include "cu.h"

int prlx_mock_hold(uint64_t stream, int held);

// How many launches are queued.
static volatile int queued;

static void *release(void *stream) {
    while (queued < 1024) usleep(1000);
    usleep(50000);
    prlx_mock_hold((uint64_t)stream, 0);
    return 0;
}

int main(void) {
    CUmodule module;
    CUfunction function;
    CUdeviceptr x;
    CUstream stream;
    pthread_t thread;
    unsigned n = 32, a = 4;
    start();
    OK(cuModuleLoadData(&module, saxpy("")));
    OK(cuModuleGetFunction(&function, module, "saxpy"));
    OK(cuMemAlloc_v2(&x, 128));
    OK(cuMemsetD8_v2(x, 1, 128));
    OK(cuStreamCreate(&stream, 1));
    prlx_mock_hold((uint64_t)stream, 1);
    pthread_create(&thread, 0, release, stream);
    void *params[] = {&n, &a, &x, &x};
    for (; queued < 1200; queued++) OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, params, 0));
    pthread_join(thread, 0);
    OK(cuCtxSynchronize());
    return 0;
}
