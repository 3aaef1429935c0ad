// corpus: flags -G
// corpus: keep sm_90a
// A debug build: nothing in registers for long, full DWARF, a device function that stays a call.
__device__ float axpy(float a, float x, float y)
{
    float product = a * x;
    return product + y;
}

extern "C" __global__ void debug_saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float before = y[i];
        y[i] = axpy(a, x[i], before);
    }
}
