// Counts the steps in a signal: places where it leaves its left neighbour by more than a limit.
// A CTA streams its part tile by tile through a ring of three stages, and loads two tiles ahead.

constexpr int TILE = 64;
constexpr int STAGES = 3;

extern "C" __global__ void count_steps(const float *signal, int tiles, float limit, int *counts)
{
    __shared__ float ring[STAGES][TILE];
    int t = threadIdx.x;
    int left = max(t - 1, 0);
    const float *mine = signal + blockIdx.x * tiles * TILE + t;
    ring[0][t] = mine[0];
    ring[1][t] = mine[TILE];
    int read = 0;
    int write = 2;
    int steps = 0;
#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
        __syncthreads();
        if (tile + 2 < tiles) {
            ring[write][t] = mine[(tile + 2) * TILE];
        }
        if (fabsf(ring[read][t] - ring[read][left]) > limit) {
            ++steps;
        }
        read = (read + 1) % STAGES;
        write = (write + 1) % STAGES;
    }
    counts[blockIdx.x * TILE + t] = steps;
}
