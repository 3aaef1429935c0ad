// Marsaglia's xorshift32 and xorshift64*, a stream a thread.
extern "C" __global__ void rng_xorshift(unsigned *narrow, unsigned long long *wide, int rounds)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = 2463534242u ^ (i * 2654435761u);
    unsigned long long y = 88172645463325252ull + i;
    for (int r = 0; r < rounds; ++r) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        y ^= y >> 12;
        y ^= y << 25;
        y ^= y >> 27;
    }
    narrow[i] = x;
    wide[i] = y * 2685821657736338717ull;
}
