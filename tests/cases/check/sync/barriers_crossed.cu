// Two warps take two barriers in opposite orders: each waits for the other.
extern "C" __global__ void barriers_crossed(int *out)
{
    int t = threadIdx.x;
#ifdef FIXED
    if (true) {
#else
    if (t < 32) {
#endif
        asm volatile("bar.sync 1, 64;" ::: "memory"); // FAULT
        asm volatile("bar.sync 2, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 2, 64;" ::: "memory"); // OTHER
        asm volatile("bar.sync 1, 64;" ::: "memory");
    }
    out[t] = t;
}
