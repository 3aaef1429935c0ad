// CUB's radix sort, scan and selection, whose CTAs take their tiles from a counter and wait for each other. argv: how
// many keys, and how often.
#include "common.cuh"
#include <algorithm>
#include <cub/cub.cuh>

struct Odd {
    __device__ bool operator()(unsigned x) const { return x & 1; }
};

int main(int argc, char **argv) {
    int keys = argc > 1 ? atoi(argv[1]) : 1 << 16, rounds = argc > 2 ? atoi(argv[2]) : 2;
    std::vector<unsigned> numbers(keys), sorted(keys);
    unsigned x = 12345, *in, *out, *values[2];
    for (unsigned &n : numbers) n = x = x * 1664525u + 1013904223u;
    int *chosen, odd;
    void *space;
    size_t sizes[3], bytes = keys * sizeof(unsigned);
    for (void **p : {(void **)&in, (void **)&out, (void **)&values[0], (void **)&values[1]}) {
        CHECK(cudaMalloc(p, bytes));
        CHECK(cudaMemset(*p, 0, bytes));
    }
    CHECK(cudaMalloc(&chosen, sizeof odd));
    cub::DeviceRadixSort::SortPairs(nullptr, sizes[0], in, out, values[0], values[1], keys);
    cub::DeviceScan::InclusiveSum(nullptr, sizes[1], in, out, keys);
    cub::DeviceSelect::If(nullptr, sizes[2], in, out, chosen, keys, Odd());
    size_t most = std::max({sizes[0], sizes[1], sizes[2]});
    CHECK(cudaMalloc(&space, most));
    CHECK(cudaMemset(space, 0, most));
    for (int round = 0; round < rounds; round++) {
        CHECK(cudaMemcpy(in, numbers.data(), bytes, cudaMemcpyHostToDevice));
        CHECK(cub::DeviceRadixSort::SortPairs(space, most, in, out, values[0], values[1], keys));
        CHECK(cudaMemcpy(sorted.data(), out, bytes, cudaMemcpyDeviceToHost));
        bool right = std::is_sorted(sorted.begin(), sorted.end());
        CHECK(cub::DeviceScan::InclusiveSum(space, most, in, out, keys));
        CHECK(cudaMemcpy(sorted.data(), out, bytes, cudaMemcpyDeviceToHost));
        CHECK(cub::DeviceSelect::If(space, most, in, out, chosen, keys, Odd()));
        CHECK(cudaMemcpy(&odd, chosen, sizeof odd, cudaMemcpyDeviceToHost));
        printf("%s, sum %u, %d odd\n", right ? "sorted" : "not sorted", sorted[keys - 1], odd);
    }
    return 0;
}
