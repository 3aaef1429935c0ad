// Sparse matrix (CSR) times vector, one thread a row: trip counts and columns are loaded.
extern "C" __global__ void spmv(int rows, const int *__restrict__ start, const int *__restrict__ column,
                                const float *__restrict__ value, const float *__restrict__ x,
                                float *__restrict__ y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int at = start[row]; at < start[row + 1]; at++)
        sum += value[at] * x[column[at]];
    y[row] = sum;
}
