// An assertion that holds, one that would not on a path not taken, a trap behind a guard, heap memory.
#include <cassert>

extern "C" __global__ void assert_trap(const int *x, int *out, int n)
{
    int i = threadIdx.x;
    assert(blockDim.x == 32);
    if (i >= n)
        return;
    if (x[i] > 1000000)
        __trap();
    assert(x[i] >= 0 && "negative input");
    int *scratch = static_cast<int *>(malloc(4 * sizeof(int)));
    if (!scratch) {
        out[i] = -1;
        return;
    }
    for (int k = 0; k < 4; ++k)
        scratch[k] = x[i] + k;
    int pick = x[i] & 3;
    out[i] = scratch[pick] * 2;
    free(scratch);
}
