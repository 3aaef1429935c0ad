// y = L x for a lower-triangular matrix whose rows are packed one after the other: row i has i + 1 entries.
// One thread a row.

extern "C" __global__ void triangular(const float *packed, const float *x, int rows, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) {
        return;
    }
    const float *row = packed + i * (i + 1) / 2;
    float sum = 0.0f;
#pragma unroll 1
    for (int j = 0; j <= i; ++j) {
        sum += row[j] * x[j];
    }
    y[i] = sum;
}
