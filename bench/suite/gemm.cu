// C = A B in f32, tiles of 16 by 16 in shared memory. `n`, the width of all three, is a multiple of 16.
constexpr int TILE = 16;

extern "C" __global__ void gemm(const float *__restrict__ a, const float *__restrict__ b,
                                float *__restrict__ c, int n)
{
    __shared__ float left[TILE][TILE];
    __shared__ float right[TILE][TILE];
    int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < n; k += TILE) {
        left[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (int j = 0; j < TILE; j++)
            sum += left[threadIdx.y][j] * right[j][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
