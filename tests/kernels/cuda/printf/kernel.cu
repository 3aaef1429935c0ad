// corpus: keep sm_90a
// Device printf: formats with integers, floats and a string, by the lanes that see something odd.
#include <cstdio>

extern "C" __global__ void printf_kernel(const float *x, int *reported, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    if (x[i] != x[i]) {
        printf("thread %d of CTA %d: %s at %d\n", threadIdx.x, blockIdx.x, "nan", i);
        atomicAdd(reported, 1);
    } else if (x[i] > 9.5f) {
        printf("x[%d] = %f (%08x)\n", i, x[i], __float_as_uint(x[i]));
        atomicAdd(reported, 1);
    }
}
