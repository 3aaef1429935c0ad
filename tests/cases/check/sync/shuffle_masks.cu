// Lanes meet at one shuffle with different ideas of who takes part.
extern "C" __global__ void shuffle_masks(int *out)
{
    int t = threadIdx.x;
#ifdef FIXED
    unsigned mask = t < 16 ? 0x0000ffff : 0xffff0000;
#else
    unsigned mask = t < 16 ? 0x0000ffff : 0xffffffff;
#endif
    out[t] = __shfl_xor_sync(mask, 3 * t, 1); // FAULT
    asm volatile("barrier.sync 0;" ::: "memory"); // OTHER
}
