// Binary floating point of 8 bits of CUDA, as far as the corpus uses it. Narrowing saturates.
#pragma once

// To nearest, ties to even, with a mantissa of so many bits; 2^least is the least normal number, and `most` the
// largest finite one.
GPU_FN unsigned char gpu_narrow(float x, int mantissa, int least, float most) {
    if (x != x)
        return 0x7f;
    float a = fminf(fabsf(x), most);
    int exponent = max((int)(__float_as_uint(a) >> 23) - 127, least);
    float scale = __uint_as_float((unsigned)(127 + mantissa - exponent) << 23);
    unsigned steps = (unsigned)rintf(a * scale), sign = __float_as_uint(x) >> 24 & 0x80;
    return sign | (((exponent - least) << mantissa) + steps);
}
#define GPU_METHOD __device__ __forceinline__ __attribute__((nodebug))
struct __nv_fp8_e4m3 {
    unsigned char __x;
    __nv_fp8_e4m3() = default;
    GPU_METHOD explicit __nv_fp8_e4m3(float x) : __x(gpu_narrow(x, 3, -6, 448.0f)) {}
    GPU_METHOD explicit operator float() const {
        int exponent = __x >> 3 & 15, fraction = __x & 7;
        float least = (float)fraction * __uint_as_float((127 - 9) << 23);
        float normal = __uint_as_float((unsigned)(exponent + 120) << 23 | (unsigned)fraction << 20);
        float a = exponent ? normal : least;
        a = (__x & 0x7f) == 0x7f ? __builtin_nanf("") : a;
        return __x & 0x80 ? -a : a;
    }
};
// Its bits are the upper half of a binary16.
struct __nv_fp8_e5m2 {
    unsigned char __x;
    __nv_fp8_e5m2() = default;
    GPU_METHOD explicit __nv_fp8_e5m2(float x) : __x(gpu_narrow(x, 2, -14, 57344.0f)) {}
    GPU_METHOD explicit operator float() const {
        return (float)__builtin_bit_cast(_Float16, (unsigned short)(__x << 8));
    }
};
#undef GPU_METHOD
