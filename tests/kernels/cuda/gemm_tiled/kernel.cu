// C = A B through 16 x 16 tiles in shared memory, edges guarded.
#define T 16

extern "C" __global__ void gemm_tiled(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float ta[T][T], tb[T][T];
    int tx = threadIdx.x, ty = threadIdx.y, col = blockIdx.x * T + tx, row = blockIdx.y * T + ty;
    float sum = 0.0f;
    for (int base = 0; base < k; base += T) {
        ta[ty][tx] = row < m && base + tx < k ? a[row * k + base + tx] : 0.0f;
        tb[ty][tx] = base + ty < k && col < n ? b[(base + ty) * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < T; ++i)
            sum += ta[ty][i] * tb[i][tx];
        __syncthreads();
    }
    if (row < m && col < n)
        c[row * n + col] = sum;
}
