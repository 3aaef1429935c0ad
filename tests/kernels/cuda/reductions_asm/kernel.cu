// corpus: keep sm_90a
// `red` in its forms: no value comes back; global and shared, relaxed and release, packed halves; ordered loads and stores.
extern "C" __global__ void reductions_asm(unsigned *words, unsigned long long *wide, float *sums, unsigned *halves)
{
    __shared__ unsigned s[2];
    unsigned i = threadIdx.x, shared = (unsigned)__cvta_generic_to_shared(s);
    if (i < 2)
        asm volatile("st.shared.u32 [%0], 0;" ::"r"(shared + 4 * i) : "memory");
    __syncthreads();
    asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(shared), "r"(i) : "memory");
    asm volatile("red.shared.max.s32 [%0+4], %1;" ::"r"(shared), "r"(i * 3) : "memory");
    asm volatile("red.global.add.u32 [%0], 2;" ::"l"(words) : "memory");
    asm volatile("red.relaxed.gpu.global.or.b32 [%0+4], %1;" ::"l"(words), "r"(1u << (i % 24)) : "memory");
    asm volatile("red.release.gpu.global.inc.u32 [%0+8], 9;" ::"l"(words) : "memory");
    asm volatile("red.global.min.u64 [%0], %1;" ::"l"(wide), "l"(5000ull - i) : "memory");
    asm volatile("red.global.add.u64 [%0+8], %1;" ::"l"(wide), "l"(1ull << 33) : "memory");
    asm volatile("red.global.add.f32 [%0], 0f3E800000;" ::"l"(sums) : "memory");
    asm volatile("red.global.add.noftz.f16x2 [%0], %1;" ::"l"(halves), "r"(0x3C003800u) : "memory");
    __syncthreads();
    if (i == 0) {
        unsigned a, b;
        asm volatile("ld.volatile.shared.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(shared));
        asm volatile("atom.add.acq_rel.sys.global.u32 %0, [%1], %2;" : "=r"(b) : "l"(words + 4 + blockIdx.x), "r"(a + b) : "memory");
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
        asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(words + 6 + blockIdx.x), "r"(b + 1) : "memory");
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(a) : "l"(words + 6 + blockIdx.x) : "memory");
        asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(words + 8 + blockIdx.x), "r"(a * 2) : "memory");
    }
}
