// A transposition through a square tile: every lane of a column is in the same bank. A row more of padding parts them.
extern "C" __global__ void bank_conflict(const float *in, float *out)
{
#ifdef FIXED
    __shared__ float tile[32][33];
#else
    __shared__ float tile[32][32];
#endif
    int t = threadIdx.x;
#pragma unroll 1
    for (int y = 0; y < 32; ++y)
        tile[y][t] = in[32 * y + t];
    __syncthreads();
#pragma unroll 1
    for (int y = 0; y < 32; ++y)
        out[32 * y + t] = tile[t][y]; // FAULT
}
