// What CUDA kernels use, for clang as a compiler of HIP without a ROCm installation.
#pragma once

// Qualifiers.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...) __attribute__((amdgpu_flat_work_group_size(1, 1024)))
#define __grid_constant__

// Their code belongs to the line that calls them.
#define GPU_FN static __device__ __forceinline__ __attribute__((nodebug))

// Types.
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned long size_t;
typedef unsigned int uint;
typedef unsigned char uchar;

// Positions in the grid.
#define GPU_AXIS(name, x_, y_, z_)                                                                \
    struct name##_t {                                                                             \
        __declspec(property(get = get_x)) unsigned x;                                             \
        __declspec(property(get = get_y)) unsigned y;                                             \
        __declspec(property(get = get_z)) unsigned z;                                             \
        __device__ __forceinline__ __attribute__((nodebug)) unsigned get_x() const { return x_; } \
        __device__ __forceinline__ __attribute__((nodebug)) unsigned get_y() const { return y_; } \
        __device__ __forceinline__ __attribute__((nodebug)) unsigned get_z() const { return z_; } \
    };                                                                                            \
    static __device__ const name##_t name = {};
GPU_AXIS(threadIdx, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
         __builtin_amdgcn_workitem_id_z())
GPU_AXIS(blockIdx, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
         __builtin_amdgcn_workgroup_id_z())
GPU_AXIS(blockDim, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(),
         __builtin_amdgcn_workgroup_size_z())
GPU_AXIS(gridDim, __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(),
         __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y(),
         __builtin_amdgcn_grid_size_z() / __builtin_amdgcn_workgroup_size_z())
#define warpSize __builtin_amdgcn_wavefrontsize()

// Barriers and fences.
GPU_FN void __syncthreads() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
GPU_FN void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
GPU_FN void __threadfence_block() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }

// Vectors.
#define GPU_VEC(T, N)                                                                                \
    struct __attribute__((aligned(2 * sizeof(T)))) N##2 { T x, y; };                                 \
    struct N##3 { T x, y, z; };                                                                      \
    struct __attribute__((aligned(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)))) N##4 { T x, y, z, w; }; \
    GPU_FN N##2 make_##N##2(T x, T y) { return {x, y}; }                                             \
    GPU_FN N##3 make_##N##3(T x, T y, T z) { return {x, y, z}; }                                     \
    GPU_FN N##4 make_##N##4(T x, T y, T z, T w) { return {x, y, z, w}; }
GPU_VEC(float, float)
GPU_VEC(int, int)
GPU_VEC(unsigned, uint)
GPU_VEC(double, double)
GPU_VEC(unsigned char, uchar)
GPU_VEC(unsigned short, ushort)
GPU_VEC(long long, longlong)
GPU_VEC(short, short)
GPU_VEC(char, char)

// Floating point.
#define GPU_MATH(T, s, b)                                                \
    GPU_FN T fabs##s(T x) { return __builtin_fabs##b(x); }               \
    GPU_FN T fma##s(T x, T y, T z) { return __builtin_fma##b(x, y, z); } \
    GPU_FN T sqrt##s(T x) { return __builtin_sqrt##b(x); }               \
    GPU_FN T fmax##s(T x, T y) { return __builtin_fmax##b(x, y); }       \
    GPU_FN T fmin##s(T x, T y) { return __builtin_fmin##b(x, y); }       \
    GPU_FN T floor##s(T x) { return __builtin_floor##b(x); }             \
    GPU_FN T ceil##s(T x) { return __builtin_ceil##b(x); }               \
    GPU_FN T trunc##s(T x) { return __builtin_trunc##b(x); }             \
    GPU_FN T rint##s(T x) { return __builtin_rint##b(x); }
GPU_MATH(float, f, f)
GPU_MATH(double, , )
GPU_FN float expf(float x) { return __builtin_expf(x); }
GPU_FN float __expf(float x) { return __builtin_expf(x); }
GPU_FN float logf(float x) { return __builtin_logf(x); }
GPU_FN float __logf(float x) { return __builtin_logf(x); }
GPU_FN float exp2f(float x) { return __builtin_exp2f(x); }
GPU_FN float log2f(float x) { return __builtin_log2f(x); }
GPU_FN float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
GPU_FN float sinf(float x) { return __builtin_amdgcn_sinf(x * 0.15915494f); }
GPU_FN float cosf(float x) { return __builtin_amdgcn_cosf(x * 0.15915494f); }
GPU_FN float __sinf(float x) { return sinf(x); }
GPU_FN float __cosf(float x) { return cosf(x); }

// Minima, maxima and absolute values.
template <class T> GPU_FN T min(T a, T b) { return b < a ? b : a; }
template <class T> GPU_FN T max(T a, T b) { return a < b ? b : a; }
GPU_FN unsigned min(unsigned a, int b) { return (unsigned)b < a ? b : a; }
GPU_FN unsigned min(int a, unsigned b) { return b < (unsigned)a ? b : a; }
GPU_FN int abs(int x) { return x < 0 ? -x : x; }

// Floating point, rounded as named.
GPU_FN float __fmul_rn(float a, float b) {
#pragma clang fp contract(off)
    return a * b;
}
GPU_FN float __fadd_rn(float a, float b) {
#pragma clang fp contract(off)
    return a + b;
}
GPU_FN float __fsub_rn(float a, float b) {
#pragma clang fp contract(off)
    return a - b;
}
GPU_FN float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
GPU_FN float __fdividef(float a, float b) { return a / b; }

// Bits.
GPU_FN unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
GPU_FN int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
GPU_FN float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
GPU_FN float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
GPU_FN int __popc(unsigned x) { return __builtin_popcount(x); }
GPU_FN int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
GPU_FN int __clz(int x) { return x ? __builtin_clz(x) : 32; }
GPU_FN int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
GPU_FN int __ffs(int x) { return __builtin_ffs(x); }
GPU_FN int __ffsll(long long x) { return __builtin_ffsll(x); }
GPU_FN unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
GPU_FN unsigned __umulhi(unsigned a, unsigned b) { return (unsigned long long)a * b >> 32; }
GPU_FN int __float2int_rn(float x) { return (int)__builtin_rintf(x); }
GPU_FN int __float2int_rd(float x) { return (int)__builtin_floorf(x); }

// Memory, traps and clocks.
template <class T> GPU_FN T __ldg(const T *p) { return *p; }
template <class T> GPU_FN T __ldcg(const T *p) { return *p; }
template <class T> GPU_FN T __ldcs(const T *p) { return *p; }
GPU_FN void __trap() { __builtin_trap(); }
GPU_FN void __nanosleep(unsigned) { __builtin_amdgcn_s_sleep(1); }
GPU_FN long long clock64() { return __builtin_readcyclecounter(); }

// Atomics.
#define GPU_ATOMIC(T)                                                                    \
    GPU_FN T atomicAdd(T *p, T v) {                                                      \
        return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); \
    }                                                                                    \
    GPU_FN T atomicExch(T *p, T v) {                                                     \
        return __hip_atomic_exchange(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);  \
    }
#define GPU_ATOMIC_INT(T)                                                                      \
    GPU_ATOMIC(T)                                                                              \
    GPU_FN T atomicSub(T *p, T v) {                                                            \
        return __hip_atomic_fetch_add(p, (T) - v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); \
    }                                                                                          \
    GPU_FN T atomicMin(T *p, T v) {                                                            \
        return __hip_atomic_fetch_min(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);       \
    }                                                                                          \
    GPU_FN T atomicMax(T *p, T v) {                                                            \
        return __hip_atomic_fetch_max(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);       \
    }                                                                                          \
    GPU_FN T atomicAnd(T *p, T v) {                                                            \
        return __hip_atomic_fetch_and(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);       \
    }                                                                                          \
    GPU_FN T atomicOr(T *p, T v) {                                                             \
        return __hip_atomic_fetch_or(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);        \
    }                                                                                          \
    GPU_FN T atomicXor(T *p, T v) {                                                            \
        return __hip_atomic_fetch_xor(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);       \
    }                                                                                          \
    GPU_FN T atomicCAS(T *p, T c, T v) {                                                       \
        __hip_atomic_compare_exchange_strong(p, &c, v, __ATOMIC_RELAXED, __ATOMIC_RELAXED,     \
                                             __HIP_MEMORY_SCOPE_AGENT);                        \
        return c;                                                                              \
    }
GPU_ATOMIC_INT(int)
GPU_ATOMIC_INT(unsigned)
GPU_ATOMIC_INT(unsigned long long)
GPU_ATOMIC(float)
GPU_ATOMIC(double)

// Lanes of a group of 32, as in CUDA: a wave of 64 has two groups.
GPU_FN int gpu_lane() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }
GPU_FN int gpu_from(int v, int lane) { return __builtin_amdgcn_ds_bpermute(lane << 2, v); }
#define GPU_SHFL(T)                                                                                         \
    GPU_FN T __shfl_sync(unsigned, T v, int l, int w = 32) {                                                \
        int i = gpu_lane();                                                                                 \
        return __builtin_bit_cast(T, gpu_from(__builtin_bit_cast(int, v), (i & ~(w - 1)) | (l & (w - 1)))); \
    }                                                                                                       \
    GPU_FN T __shfl_xor_sync(unsigned, T v, int m, int w = 32) {                                            \
        int i = gpu_lane(), t = i ^ m;                                                                      \
        if ((t & ~(w - 1)) > (i & ~(w - 1)))                                                                \
            t = i;                                                                                          \
        return __builtin_bit_cast(T, gpu_from(__builtin_bit_cast(int, v), t));                              \
    }                                                                                                       \
    GPU_FN T __shfl_down_sync(unsigned, T v, int d, int w = 32) {                                           \
        int i = gpu_lane(), t = i + d;                                                                      \
        if ((t & ~(w - 1)) != (i & ~(w - 1)))                                                               \
            t = i;                                                                                          \
        return __builtin_bit_cast(T, gpu_from(__builtin_bit_cast(int, v), t));                              \
    }                                                                                                       \
    GPU_FN T __shfl_up_sync(unsigned, T v, int d, int w = 32) {                                             \
        int i = gpu_lane(), t = i - d;                                                                      \
        if (t < (i & ~(w - 1)))                                                                             \
            t = i;                                                                                          \
        return __builtin_bit_cast(T, gpu_from(__builtin_bit_cast(int, v), t));                              \
    }
GPU_SHFL(int)
GPU_SHFL(unsigned)
GPU_SHFL(float)

// Values of 64 bits go in two halves.
#define GPU_SHFL64(T, name, parameters, arguments)                          \
    GPU_FN T name parameters {                                              \
        unsigned long long b = __builtin_bit_cast(unsigned long long, v);   \
        unsigned low = b, high = b >> 32;                                   \
        {                                                                   \
            unsigned v = low;                                               \
            low = name arguments;                                           \
        }                                                                   \
        {                                                                   \
            unsigned v = high;                                              \
            high = name arguments;                                          \
        }                                                                   \
        return __builtin_bit_cast(T, (unsigned long long)high << 32 | low); \
    }
#define GPU_SHFLS64(T)                                                                  \
    GPU_SHFL64(T, __shfl_sync, (unsigned m, T v, int l, int w = 32), (m, v, l, w))      \
    GPU_SHFL64(T, __shfl_xor_sync, (unsigned m, T v, int l, int w = 32), (m, v, l, w))  \
    GPU_SHFL64(T, __shfl_down_sync, (unsigned m, T v, int l, int w = 32), (m, v, l, w)) \
    GPU_SHFL64(T, __shfl_up_sync, (unsigned m, T v, int l, int w = 32), (m, v, l, w))
GPU_SHFLS64(double)
GPU_SHFLS64(long long)
GPU_SHFLS64(unsigned long long)

// Votes.
GPU_FN unsigned __ballot_sync(unsigned, int p) {
    unsigned long long all = __builtin_amdgcn_ballot_w64(p);
    return (unsigned)(all >> (gpu_lane() & 32));
}
GPU_FN unsigned __activemask() { return __ballot_sync(~0u, 1); }
GPU_FN int __any_sync(unsigned m, int p) { return (__ballot_sync(m, p) & m) != 0; }
GPU_FN int __all_sync(unsigned m, int p) { return (__ballot_sync(m, p) & m) == (__activemask() & m); }
GPU_FN void __syncwarp(unsigned = ~0u) {
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "wavefront");
    __builtin_amdgcn_wave_barrier();
}

// Operations over the lanes of a group that a mask names.
#define GPU_REDUCE(T, name, operation)       \
    GPU_FN T name(unsigned m, T v) {         \
        T all = 0;                           \
        bool first = true;                   \
        for (int l = 0; l < 32; ++l) {       \
            T x = __shfl_sync(m, v, l);      \
            if (m >> l & 1) {                \
                all = first ? x : operation; \
                first = false;               \
            }                                \
        }                                    \
        return all;                          \
    }
GPU_REDUCE(unsigned, __reduce_add_sync, all + x)
GPU_REDUCE(unsigned, __reduce_and_sync, all & x)
GPU_REDUCE(unsigned, __reduce_or_sync, all | x)
GPU_REDUCE(unsigned, __reduce_xor_sync, all ^ x)
GPU_REDUCE(unsigned, __reduce_min_sync, x < all ? x : all)
GPU_REDUCE(unsigned, __reduce_max_sync, x > all ? x : all)
GPU_REDUCE(int, __reduce_min_sync, x < all ? x : all)
GPU_REDUCE(int, __reduce_max_sync, x > all ? x : all)
GPU_REDUCE(int, __reduce_add_sync, all + x)
template <class T> GPU_FN unsigned __match_any_sync(unsigned m, T v) {
    unsigned same = 0;
    for (int l = 0; l < 32; ++l) {
        T x = __shfl_sync(m, v, l);
        if (x == v)
            same |= 1u << l;
    }
    return same & m & __activemask();
}
template <class T> GPU_FN unsigned __match_all_sync(unsigned m, T v, int *p) {
    *p = (__match_any_sync(m, v) & m) == m;
    *p = __all_sync(m, *p);
    return *p ? m : 0;
}

// Other arithmetic.
#define INFINITY __builtin_inff()
#define assert(x) ((x) ? (void)0 : __builtin_trap())
GPU_FN unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) {
    n &= 31;
    return n ? high << n | low >> (32 - n) : high;
}
GPU_FN unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n) {
    n &= 31;
    return n ? low >> n | high << (32 - n) : low;
}
GPU_FN unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
    unsigned long long all = (unsigned long long)b << 32 | a;
    unsigned r = 0;
    for (int i = 0; i < 4; ++i)
        r |= (unsigned)(all >> (8 * (s >> (4 * i) & 7)) & 255) << (8 * i);
    return r;
}
GPU_FN unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned __int128)a * b >> 64;
}
GPU_FN long long clock() { return clock64(); }
GPU_FN float __saturatef(float x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
GPU_FN unsigned __sad(int a, int b, unsigned c) { return c + (a < b ? b - a : a - b); }
GPU_FN unsigned __uhadd(unsigned a, unsigned b) { return ((unsigned long long)a + b) >> 1; }
