// Two halves of a warp exchange "with all lanes", each at an instruction of its own: they never meet.
extern "C" __global__ void shuffle_apart(int *out)
{
    int t = threadIdx.x, v = 3 * t;
#ifdef FIXED
    const unsigned low = 0x0000ffff, high = 0xffff0000;
#else
    const unsigned low = 0xffffffff, high = 0xffffffff;
#endif
    if (t < 16)
        v = __shfl_xor_sync(low, v, 1); // FAULT
    else
        v = __ballot_sync(high, v & 1); // OTHER
    out[t] = v;
}
