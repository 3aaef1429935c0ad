// bfloat16 of CUDA, as far as the corpus uses it.
#pragma once

struct __nv_bfloat16 { unsigned short bits; };
struct __attribute__((aligned(4))) __nv_bfloat162 { __nv_bfloat16 x, y; };

GPU_FN float __bfloat162float(__nv_bfloat16 a) { return __uint_as_float((unsigned)a.bits << 16); }
// To nearest, ties to even; a NaN becomes CUDA's.
GPU_FN __nv_bfloat16 __float2bfloat16_rn(float x) {
    unsigned b = __float_as_uint(x);
    return {(unsigned short)(x != x ? 0x7fff : (b + 0x7fff + (b >> 16 & 1)) >> 16)};
}
// One rounding: the product of two is exact in binary64. A sum that binary32 rounds to a tie is moved off it.
GPU_FN __nv_bfloat16 gpu_fma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
    double sum = __builtin_fma((double)__bfloat162float(a), (double)__bfloat162float(b), (double)__bfloat162float(c));
    float near = (float)sum;
    unsigned bits = __float_as_uint(near);
    if ((bits & 0xffff) == 0x8000 && (double)near != sum)
        bits += __builtin_fabs((double)near) < __builtin_fabs(sum) ? 1 : -1;
    return __float2bfloat16_rn(__uint_as_float(bits));
}
GPU_FN __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) {
    return {gpu_fma(a.x, b.x, c.x), gpu_fma(a.y, b.y, c.y)};
}
GPU_FN float2 __bfloat1622float2(__nv_bfloat162 a) { return {__bfloat162float(a.x), __bfloat162float(a.y)}; }
GPU_FN __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
    return {__float2bfloat16_rn(x), __float2bfloat16_rn(y)};
}
