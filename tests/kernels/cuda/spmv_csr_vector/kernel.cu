// Sparse matrix times vector, CSR, a warp a row, with a shuffle reduction at its end.
extern "C" __global__ void spmv_csr_vector(int rows, const int *start, const int *column, const float *value,
                                           const float *x, float *y)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int k = start[row] + lane; k < start[row + 1]; k += 32)
        sum = fmaf(value[k], __ldg(x + column[k]), sum);
    for (int d = 16; d; d >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (lane == 0)
        y[row] = sum;
}
