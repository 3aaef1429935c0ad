// Points in the unit square by a counter-based generator, counted in the circle: integers, so exact; block-level votes.
__device__ unsigned mix(unsigned x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

extern "C" __global__ void monte_carlo_pi(unsigned long long *inside, int samples)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int count = 0;
    for (int s = 0; s < samples; ++s) {
        unsigned h = mix(i * samples + s);
        unsigned x = h & 0xffff, y = h >> 16;
        if ((unsigned long long)x * x + (unsigned long long)y * y < 0xfffe0001ull)
            ++count;
    }
    count = __reduce_add_sync(0xffffffffu, count);
    if (threadIdx.x % 32 == 0)
        atomicAdd(inside, (unsigned long long)count);
}
