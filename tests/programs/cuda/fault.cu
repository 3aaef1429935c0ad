// The third launch writes where nothing is. The program sees CUDA's error, and says so. `queued`: it waits for nothing before, but
// CUDA does.
#include "common.cuh"

int main(int argc, char **)
{
    bool queued = argc > 1;
    if (queued)
        setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
    Numbers numbers(10000);
    for (int i = 0; i < 3; ++i) {
        collatz<<<numbers.blocks(), 128>>>(numbers.from, i < 2 ? numbers.steps : nullptr, numbers.n);
        if (queued && i < 2)
            continue;
        cudaError_t error = cudaDeviceSynchronize();
        printf("launch %d: %s\n", i, cudaGetErrorName(error));
        if (error != cudaSuccess)
            return 6;
    }
    return 0;
}
