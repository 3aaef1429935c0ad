extern "C" __global__ void row_sums(const float *x, float *sums, int columns)
{
    __shared__ float part[64];
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        sum += x[blockIdx.x * columns + i];
    part[threadIdx.x] = sum;
    for (int d = blockDim.x / 2; d > 0; d /= 2) {
        if (threadIdx.x < d)
            part[threadIdx.x] += part[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = part[0];
}

extern "C" __global__ void divide(const float *x, const float *sums, float *out, int columns, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = x[i] / sums[i / columns];
}
