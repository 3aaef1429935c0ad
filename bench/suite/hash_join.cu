// The probe side of a hash join: linear probing in a table of 2^bits slots, then one count for each CTA.
#include <cstdint>

constexpr uint32_t EMPTY = 0xffffffffu;

extern "C" __global__ void hash_join(const uint32_t *__restrict__ slot_key,
                                     const uint32_t *__restrict__ slot_value, uint32_t bits,
                                     const uint32_t *__restrict__ probe, uint32_t *__restrict__ joined,
                                     uint32_t n, uint32_t *matches)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    bool found = false;
    if (i < n) {
        uint32_t key = probe[i], result = EMPTY;
        uint32_t slot = key * 2654435761u >> (32 - bits);
        for (;;) {
            uint32_t here = slot_key[slot];
            if (here == key) {
                result = slot_value[slot];
                found = true;
                break;
            }
            if (here == EMPTY)
                break;
            slot = (slot + 1) & ((1u << bits) - 1);
        }
        joined[i] = result;
    }
    int count = __syncthreads_count(found);
    if (threadIdx.x == 0 && count > 0)
        atomicAdd(matches, (uint32_t)count);
}
