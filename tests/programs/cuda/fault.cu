// The third launch writes where nothing is. The program sees CUDA's error, and says so.
#include "common.cuh"

int main()
{
    Numbers numbers(10000);
    for (int i = 0; i < 3; ++i) {
        collatz<<<numbers.blocks(), 128>>>(numbers.from, i < 2 ? numbers.steps : nullptr, numbers.n);
        cudaError_t error = cudaDeviceSynchronize();
        printf("launch %d: %s\n", i, cudaGetErrorName(error));
        if (error != cudaSuccess)
            return 6;
    }
    return 0;
}
