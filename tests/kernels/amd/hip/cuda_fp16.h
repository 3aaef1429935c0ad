// binary16 of CUDA, as far as the corpus uses it. No operation is contracted with another.
#pragma once

typedef _Float16 __half;
struct __attribute__((aligned(4))) __half2 { __half x, y; };

#define GPU_HALF2(name, expression)                                \
    GPU_FN __half name##_one(__half a, __half b) {                 \
        _Pragma("clang fp contract(off)") return expression;       \
    }                                                              \
    GPU_FN __half2 name(__half2 a, __half2 b) { return {name##_one(a.x, b.x), name##_one(a.y, b.y)}; }
GPU_HALF2(__hadd2_rn, a + b)
GPU_HALF2(__hmin2, __builtin_fminf16(a, b))
GPU_HALF2(__hmax2, __builtin_fmaxf16(a, b))
GPU_FN __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
    return {__builtin_fmaf16(a.x, b.x, c.x), __builtin_fmaf16(a.y, b.y, c.y)};
}
GPU_FN __half __low2half(__half2 a) { return a.x; }
GPU_FN __half __high2half(__half2 a) { return a.y; }
GPU_FN bool __hlt(__half a, __half b) { return a < b; }
GPU_FN bool __hgt(__half a, __half b) { return a > b; }
GPU_FN int __half2int_rz(__half a) { return (int)(float)a; }
GPU_FN int __half2int_rn(__half a) { return (int)__builtin_rintf(a); }
GPU_FN float2 __half22float2(__half2 a) { return {(float)a.x, (float)a.y}; }
GPU_FN __half2 __floats2half2_rn(float x, float y) { return {(__half)x, (__half)y}; }
GPU_FN __half2 __float2half2_rn(float x) { return {(__half)x, (__half)x}; }
