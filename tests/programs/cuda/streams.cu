// Two streams at once, then the default stream of each thread; events between them.
#include "common.cuh"

int main()
{
    Numbers a(20000, 1), b(20000, 50000);
    cudaStream_t s[2];
    cudaEvent_t passed;
    CHECK(cudaStreamCreateWithFlags(&s[0], cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&s[1], cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&passed, cudaEventDisableTiming));
    for (int i = 0; i < 50; ++i) {
        collatz<<<a.blocks(), 128, 0, s[0]>>>(a.from, a.steps, a.n);
        collatz<<<b.blocks(), 128, 0, s[1]>>>(b.from, b.steps, b.n);
    }
    CHECK(cudaEventRecord(passed, s[0]));
    CHECK(cudaStreamWaitEvent(s[1], passed, 0));
    collatz<<<a.blocks(), 128, 0, s[1]>>>(a.from, a.steps, a.n);
    collatz<<<b.blocks(), 128, 0, cudaStreamPerThread>>>(b.from, b.steps, b.n);
    CHECK(cudaDeviceSynchronize());
    a.say("first");
    b.say("second");
    return 0;
}
