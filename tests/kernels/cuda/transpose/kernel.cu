// Matrix transpose through a padded tile of shared memory, so that reads and writes are both coalesced.
extern "C" __global__ void transpose(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x;
    for (int j = threadIdx.y; j < 32; j += 8) {
        int y = blockIdx.y * 32 + j;
        if (x < cols && y < rows)
            tile[j][threadIdx.x] = in[y * cols + x];
    }
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    for (int j = threadIdx.y; j < 32; j += 8) {
        int y = blockIdx.x * 32 + j;
        if (x < rows && y < cols)
            out[y * rows + x] = tile[threadIdx.x][j];
    }
}
