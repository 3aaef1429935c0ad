// Naive search: each thread compares the pattern at its position of the text, up to the first difference.
#include <cstdint>

extern "C" __global__ void string_match(const uint8_t *__restrict__ text, uint32_t length,
                                        const uint8_t *__restrict__ pattern, uint32_t size,
                                        uint8_t *__restrict__ found, uint32_t *matches)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + size > length)
        return;
    uint32_t k = 0;
    while (k < size && text[i + k] == pattern[k])
        k++;
    bool all = k == size;
    found[i] = all;
    if (all)
        atomicAdd(matches, 1u);
}
