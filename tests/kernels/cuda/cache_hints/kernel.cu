// corpus: keep sm_90a
// Loads and stores with cache operators and eviction priorities, vectors of 2 and 4, prefetches, L2 policies.
extern "C" __global__ void cache_hints(const float4 *in, float4 *out, const float2 *pairs, float2 *sums)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    asm volatile("prefetch.global.L2 [%0];" ::"l"(pairs + i));
    float4 a = __ldcs(in + i), b = __ldg(in + i), c = __ldcg(in + i), d = __ldlu(in + i);
    __stwt(out + 2 * i, make_float4(a.x, b.y, c.z, d.w));
    __stcs(out + 2 * i + 1, make_float4(d.x, c.y, b.z, a.w));
    float x, y;
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.L2::cache_hint.v2.f32 {%0, %1}, [%2], %3;" : "=f"(x), "=f"(y) : "l"(pairs + i), "l"(policy));
    asm volatile("ld.global.L1::no_allocate.L2::128B.f32 %0, [%1];" : "=f"(x) : "l"(pairs + i));
    asm volatile("st.global.L1::evict_last.v2.f32 [%0], {%1, %2};" ::"l"(sums + i), "f"(x + y), "f"(x - y) : "memory");
}
