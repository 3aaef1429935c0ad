// Lower bounds of loaded keys in a sorted table: every step's direction is data.
#include <cstdint>

extern "C" __global__ void lower_bound(const uint32_t *__restrict__ table, uint32_t size,
                                       const uint32_t *__restrict__ keys, uint32_t *__restrict__ where,
                                       uint32_t n)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    uint32_t key = keys[i], low = 0, high = size;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        uint32_t here = table[middle];
        if (here == key) {
            low = middle;
            break;
        }
        if (here < key)
            low = middle + 1;
        else
            high = middle;
    }
    where[i] = low;
}
