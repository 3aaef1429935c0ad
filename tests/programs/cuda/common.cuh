// What the programs share: errors end them, and they say their results as one number.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                  \
    do {                                                                                             \
        cudaError_t error = (call);                                                                  \
        if (error != cudaSuccess) {                                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));          \
            exit(9);                                                                                 \
        }                                                                                            \
    } while (0)

// Steps until n is 1: a loop whose trips the data choose, and a branch in each.
__global__ void collatz(const uint32_t *from, uint32_t *steps, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    uint64_t v = from[i];
    uint32_t count = 0;
    while (v != 1) {
        v = v & 1 ? 3 * v + 1 : v / 2;
        ++count;
    }
    steps[i] = count;
}

// FNV-1a of the words, on standard output.
inline void say(const char *what, const uint32_t *words, size_t n)
{
    uint64_t h = 0xcbf29ce484222325;
    for (size_t i = 0; i < n; ++i)
        h = (h ^ words[i]) * 0x100000001b3;
    printf("%s %016llx\n", what, (unsigned long long)h);
    fflush(stdout);
}

// Numbers to begin with: 1, 2, 3 …, shifted by `first`, on the device; and room for results.
struct Numbers {
    int n;
    uint32_t *from, *steps;
    explicit Numbers(int n, uint32_t first = 1) : n(n)
    {
        std::vector<uint32_t> host(n);
        for (int i = 0; i < n; ++i)
            host[i] = first + i;
        CHECK(cudaMalloc(&from, n * 4));
        CHECK(cudaMalloc(&steps, n * 4));
        CHECK(cudaMemcpy(from, host.data(), n * 4, cudaMemcpyHostToDevice));
        CHECK(cudaMemset(steps, 0, n * 4));
    }
    int blocks() const { return (n + 127) / 128; }
    void say(const char *what) const
    {
        std::vector<uint32_t> host(n);
        CHECK(cudaMemcpy(host.data(), steps, n * 4, cudaMemcpyDeviceToHost));
        ::say(what, host.data(), n);
    }
};
