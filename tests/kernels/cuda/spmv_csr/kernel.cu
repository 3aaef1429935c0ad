// Sparse matrix times vector, CSR, a row a thread: trip counts come from loaded data.
extern "C" __global__ void spmv_csr(int rows, const int *start, const int *column, const float *value, const float *x,
                                    float *y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int k = start[row]; k < start[row + 1]; ++k)
        sum += value[k] * x[column[k]];
    y[row] = sum;
}
