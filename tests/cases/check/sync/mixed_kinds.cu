// One warp reduces over a barrier at which the other only waits.
extern "C" __global__ void mixed_kinds(int *out)
{
    int t = threadIdx.x, votes = 1;
    if (t < 32)
        asm volatile("barrier.sync 0;" ::: "memory"); // FAULT
    else
#ifdef FIXED
        asm volatile("barrier.sync 0;" ::: "memory");
#else
        asm volatile("{\n\t.reg .pred p;\n\tsetp.gt.s32 p, %1, 40;\n\tbarrier.red.popc.u32 %0, 0, p;\n\t}" : "=r"(votes) : "r"(t) : "memory"); // FAULT
#endif
    out[t] = votes;
}
