// Two GPUs by turns, from one thread and from two. With fewer GPUs it says so and does nothing.
#include "common.cuh"
#include <thread>

int main()
{
    int count;
    CHECK(cudaGetDeviceCount(&count));
    if (count < 2) {
        printf("one GPU\n");
        return 0;
    }
    Numbers *numbers[2];
    for (int d = 0; d < 2; ++d) {
        CHECK(cudaSetDevice(d));
        numbers[d] = new Numbers(10000, 1 + d * 10000);
    }
    for (int i = 0; i < 10; ++i) {
        Numbers &of = *numbers[i % 2];
        CHECK(cudaSetDevice(i % 2));
        collatz<<<of.blocks(), 128>>>(of.from, of.steps, of.n);
    }
    auto work = [&](int d) {
        CHECK(cudaSetDevice(d));
        for (int i = 0; i < 5; ++i)
            collatz<<<numbers[d]->blocks(), 128>>>(numbers[d]->from, numbers[d]->steps, numbers[d]->n);
        CHECK(cudaDeviceSynchronize());
    };
    std::thread one(work, 0), two(work, 1);
    one.join();
    two.join();
    for (int d = 0; d < 2; ++d) {
        CHECK(cudaSetDevice(d));
        CHECK(cudaDeviceSynchronize());
        numbers[d]->say(d ? "second" : "first");
    }
    return 0;
}
