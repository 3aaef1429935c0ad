#include <cstdio>
#include <cassert>
__global__ void says(int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    printf("thread %d of %s\n", i, "\033[31mred");
    assert(i != n);
    out[i] = i;
}
