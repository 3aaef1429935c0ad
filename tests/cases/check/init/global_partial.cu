// Only the first 48 words of a scratch buffer are set, and all 64 are summed up.
extern "C" __global__ void global_partial(int *scratch, int *out, int n)
{
    int i = threadIdx.x;
    if (i < n)
        scratch[i] = i;
#ifdef FIXED
    else
        scratch[i] = 0;
#endif
    out[i] = scratch[i] + 1; // FAULT
}
