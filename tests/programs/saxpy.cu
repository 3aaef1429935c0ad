// y[i] = a * x[i] + y[i]; bias more where x[i] is odd.
__constant__ unsigned bias = 5;

extern "C" __global__ void saxpy(unsigned n, unsigned a, const unsigned *x, unsigned *y) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] += a * x[i];
        if (x[i] & 1) y[i] += bias;
    }
}
