// Collatz sequences of loaded numbers: trip counts that no thread index predicts.
#include <cstdint>

extern "C" __global__ void collatz(const uint32_t *numbers, uint32_t *steps, uint32_t n, uint32_t limit)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    uint64_t v = numbers[i];
    uint32_t count = 0;
    while (v > 1 && count < limit) {
        if (v & 1)
            v = 3 * v + 1;
        else
            v >>= 1;
        count++;
    }
    steps[i] = count;
}
