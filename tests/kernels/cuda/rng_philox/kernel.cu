// Philox4x32-10: four words a thread from a counter and a key, and a uniform float from the first.
extern "C" __global__ void rng_philox(uint4 *words, float *uniform, unsigned key0, unsigned key1)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 c = make_uint4(i, 0, 7, 0);
    for (int round = 0; round < 10; ++round) {
        unsigned high0 = __umulhi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
        unsigned high1 = __umulhi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
        c = make_uint4(high1 ^ c.y ^ key0, low1, high0 ^ c.w ^ key1, low0);
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    words[i] = c;
    uniform[i] = (c.x >> 8) * (1.0f / 16777216.0f);
}
