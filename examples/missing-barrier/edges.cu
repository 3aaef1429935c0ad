// Marks the edges in a line of pixels: places where a pixel differs from its left neighbour by more than a limit.
// A CTA walks over its line tile by tile; a tile passes through shared memory so that neighbours can see it.

constexpr int TILE = 128;

extern "C" __global__ void mark_edges(const int *pixels, int tiles, int limit, unsigned char *edges)
{
    __shared__ int tile[TILE];
    int t = threadIdx.x;
    int left = max(t - 1, 0);
    int start = blockIdx.x * tiles * TILE;
#pragma unroll 1
    for (int at = start + t; at < start + tiles * TILE; at += TILE) {
        tile[t] = pixels[at];

        if (abs(tile[t] - tile[left]) > limit) {
            edges[at] = 1;
        }
        __syncthreads();
    }
}
