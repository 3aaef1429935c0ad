// A mask of the lower half of the warp, and all lanes execute the shuffle.
extern "C" __global__ void shuffle_without_self(int *out)
{
    int t = threadIdx.x;
#ifdef FIXED
    if (t >= 16)
        return;
#endif
    out[t] = __shfl_xor_sync(0x0000ffff, 3 * t, 1); // FAULT
}
