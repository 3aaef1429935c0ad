// corpus: keep sm_90a
// Inline PTX: special registers, scopes with their own registers and labels, a predicate, carries, a vector load.
extern "C" __global__ void inline_asm(const uint4 *in, unsigned *lanes, unsigned *sums, unsigned *clipped)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane, below;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
    lanes[i] = below + lane;

    uint4 v;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(in + i) : "memory");
    unsigned low, high;
    asm("{\n\t"
        ".reg .u32 t;\n\t"
        "add.cc.u32 t, %2, %4;\n\t"
        "addc.u32 %1, %3, %5;\n\t"
        "mov.u32 %0, t;\n\t"
        "}"
        : "=r"(low), "=r"(high) : "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w));
    sums[2 * i] = low;
    sums[2 * i + 1] = high;

    unsigned c = v.x;
    asm volatile("{\n\t"
                 ".reg .pred p;\n\t"
                 "AGAIN:\n\t"
                 "setp.gt.u32 p, %0, 1000;\n\t"
                 "@p shr.u32 %0, %0, 1;\n\t"
                 "@p bra AGAIN;\n\t"
                 "}"
                 : "+r"(c));
    clipped[i] = c;
}
