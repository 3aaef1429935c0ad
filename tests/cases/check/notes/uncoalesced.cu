// Each thread sums up a row of its own, so that a warp's loads lie 128 bytes apart.
extern "C" __global__ void uncoalesced(const float *in, float *out)
{
    int t = threadIdx.x;
    float sum = 0;
#pragma unroll 1
    for (int i = 0; i < 32; ++i)
#ifdef FIXED
        sum += in[64 * i + t];
#else
        sum += in[32 * t + i]; // FAULT
#endif
    out[t] = sum;
}
