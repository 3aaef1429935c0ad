// The last CTA to count itself sums up what all have written, with no fence on either side of the counter.
extern "C" __global__ void last_block(const int *in, int *partial, unsigned *count, int *out)
{
    partial[blockIdx.x] = in[blockIdx.x]; // OTHER
#ifdef FIXED
    __threadfence();
#endif
    if (atomicInc(count, 3) == 3) {
#ifdef FIXED
        __threadfence();
#endif
        int sum = 0;
#pragma unroll 1
        for (int i = 0; i < 4; ++i)
            sum += partial[i]; // FAULT
        *out = sum;
    }
}
