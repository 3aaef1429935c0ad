// Loads from global memory to LDS, as libraries write them: four bytes a lane, or 16 (gfx950). Each warp reads
// what another one loaded.
#ifndef BYTES
#define BYTES 4
#endif
typedef __attribute__((address_space(1))) unsigned global_word;
typedef __attribute__((address_space(3))) unsigned shared_word;

extern "C" __global__ void staged(const unsigned *in, unsigned *out, int n)
{
    constexpr int words = BYTES / 4;
    __shared__ unsigned tile[256 * words];
    int t = threadIdx.x;
    unsigned *mine = tile + (t & ~63) * words;
    __builtin_amdgcn_global_load_lds((global_word *)(in + t * words), (shared_word *)mine, BYTES, 0, 0);
    __builtin_amdgcn_s_waitcnt(0);
    __syncthreads();
    unsigned sum = n;
    for (int i = 0; i < words; ++i)
        sum = sum * 3 + tile[(255 - t) * words + i];
    out[t] = sum;
}
