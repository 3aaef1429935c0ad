// Adds each element's four neighbours, 16 apart, within a tile of 128, tile by tile; the tile's end wraps around.

constexpr int TILE = 128;

extern "C" __global__ void neighbours(const float *in, float *out, int tiles)
{
    __shared__ float tile[TILE];
    int t = threadIdx.x;
#pragma unroll 1
    for (int i = 0; i < tiles; i++) {
        int at = (blockIdx.x * tiles + i) * TILE + t;
        tile[t] = in[at];
        __syncthreads();
        float sum = 0.0f;
#pragma unroll
        for (int n = 1; n <= 4; n++) {
            sum += tile[(t + n * 16) % TILE];
        }
        out[at] = sum;
        __syncthreads(); // everybody has read the tile
    }
}
