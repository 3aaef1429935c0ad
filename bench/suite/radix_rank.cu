// One pass of a radix sort in each tile of 1024 keys: histogram, scan and scatter of one digit of 4 bits.
// The grid covers the keys exactly. A tile's keys come out in order of their digit, equal digits in place.
#include <cstdint>

constexpr int THREADS = 256, EACH = 4, DIGITS = 16;

extern "C" __global__ void __launch_bounds__(THREADS)
    radix_rank(const uint4 *__restrict__ keys, uint32_t *__restrict__ sorted,
               uint32_t *__restrict__ histogram, int shift)
{
    __shared__ uint32_t counts[DIGITS * THREADS]; // counts[digit * THREADS + thread]
    __shared__ uint32_t warp_sums[THREADS / 32];
    int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
    uint4 loaded = keys[blockIdx.x * THREADS + thread];
    uint32_t key[EACH] = {loaded.x, loaded.y, loaded.z, loaded.w};

    for (int d = 0; d < DIGITS; d++)
        counts[d * THREADS + thread] = 0;
    uint32_t digit[EACH], before[EACH];
    for (int k = 0; k < EACH; k++) {
        digit[k] = key[k] >> shift & (DIGITS - 1);
        before[k] = counts[digit[k] * THREADS + thread]++;
    }
    __syncthreads();

    // Each thread sums 16 neighbours, warps scan the sums, then each thread writes its prefixes.
    uint32_t sum = 0;
    for (int k = 0; k < DIGITS; k++)
        sum += counts[thread * DIGITS + k];
    uint32_t upto = sum;
    for (int step = 1; step < 32; step *= 2) {
        uint32_t other = __shfl_up_sync(0xffffffffu, upto, step);
        if (lane >= step)
            upto += other;
    }
    if (lane == 31)
        warp_sums[warp] = upto;
    __syncthreads();
    uint32_t prefix = upto - sum;
    for (int w = 0; w < warp; w++)
        prefix += warp_sums[w];
    for (int k = 0; k < DIGITS; k++) {
        uint32_t count = counts[thread * DIGITS + k];
        counts[thread * DIGITS + k] = prefix;
        prefix += count;
    }
    __syncthreads();

    uint32_t tile = blockIdx.x * THREADS * EACH;
    for (int k = 0; k < EACH; k++)
        sorted[tile + counts[digit[k] * THREADS + thread] + before[k]] = key[k];
    if (thread < DIGITS) {
        uint32_t end = thread + 1 < DIGITS ? counts[(thread + 1) * THREADS] : THREADS * EACH;
        histogram[thread * gridDim.x + blockIdx.x] = end - counts[thread * THREADS];
    }
}
