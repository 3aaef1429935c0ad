// The usual tree over a whole warp, of which some lanes have returned: lane 4 reads lane 20.
extern "C" __global__ void shuffle_from_ended(int *out, int n)
{
    int t = threadIdx.x;
#ifndef FIXED
    if (t >= n)
        return;
#endif
    int v = t < n ? t : 0;
    v += __shfl_down_sync(0xffffffff, v, 16, 32); // FAULT
    if (t < n)
        out[t] = v;
}
