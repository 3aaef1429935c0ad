// Counts the warps that hit something. The count is not atomic, so that of two warps that count at a time one is lost.
extern "C" __global__ void count_hits(const int *x, int *hits, int *missed)
{
    int warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0 && x[warp] > 0) {
        *hits = *hits + 1;
    }
    __syncthreads();
    if (threadIdx.x == 0 && *hits < 4) {
        *missed = 4 - *hits;
    }
}
