// A chain of launches, each from what the one before left. The first argument: which of them does something else.
// `cost MIB`: copies so much again and again, and says on standard error how fast.
#include "common.cuh"
#include <cstring>

// What one launch gets, in a structure: its pointers are found there too.
struct Part {
    int n;
    const uint32_t *from;
    uint32_t *to;
};

// What no parameter says: for this thread the kernel does something else.
__device__ int other = -1;

__global__ void step(Part p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.n)
        p.to[i] = p.from[i] * 5 + (p.from[i] & 1 && i != other ? 7 : 3) + p.to[i];
}

__global__ void copy(const uint4 *from, uint4 *to, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        to[i] = from[i];
}

static int cost(size_t bytes)
{
    uint4 *from, *to;
    cudaEvent_t begin, end;
    float ms;
    CHECK(cudaMalloc(&from, bytes));
    CHECK(cudaMalloc(&to, bytes));
    CHECK(cudaMemset(from, 3, bytes));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    for (int round = 0; round < 2; ++round) {
        CHECK(cudaEventRecord(begin));
        for (int i = 0; i < 20; ++i)
            copy<<<2112, 256>>>(from, to, bytes / 16);
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
    }
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    fprintf(stderr, "copy: %.4f ms\n", ms / 20);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 2 && !strcmp(argv[1], "cost"))
        return cost((size_t)atoi(argv[2]) << 20);
    int odd = argc > 1 ? atoi(argv[1]) : -1;
    Numbers numbers(10000);
    uint32_t *all[3] = {numbers.from, numbers.steps};
    CHECK(cudaMalloc(&all[2], numbers.n * 4));
    CHECK(cudaMemset(all[2], 1, numbers.n * 4));
    for (int i = 0; i < 9; ++i) {
        Part part = {numbers.n, all[i % 3], all[(i + 1) % 3]};
        int thread = i == odd ? 4320 : -1;
        CHECK(cudaMemcpyToSymbol(other, &thread, sizeof thread));
        step<<<numbers.blocks(), 128>>>(part);
    }
    CHECK(cudaDeviceSynchronize());
    numbers.say("chain");
    return 0;
}
