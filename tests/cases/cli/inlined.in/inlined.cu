// Two barriers of one helper.
__device__ __forceinline__ void meet() {
    __syncthreads();
}
extern "C" __global__ void two(float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = i;
    if (threadIdx.x < 32) for (int k = 0; k < n; ++k) s = s * 1.5f + 1;
    meet();
    if (threadIdx.x >= 32) for (int k = 0; k < 3 * n; ++k) s = s * 1.5f + 1;
    meet();
    y[i] = s;
}
