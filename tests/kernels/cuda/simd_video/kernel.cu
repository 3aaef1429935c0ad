// CUDA's SIMD intrinsics on packed bytes and halves, video instructions (scalar, merged, accumulated), lop3 with a predicate,
// cvt.pack, and memory that each thread takes of its stack.
extern "C" __global__ void simd_video(const unsigned *a, const unsigned *b, unsigned *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, x = a[i], y = b[i], *o = out + i * 16, r, s;
    o[0] = __vabsdiffu4(x, y);
    o[1] = __vsadu4(x, y);
    o[2] = __vabsdiffs2(x, y);
    o[3] = __vsads2(x, y);
    o[4] = __vaddss4(x, y);
    o[5] = __vavgu2(x, y);
    o[6] = __vmaxs4(x, __vsub4(y, x));
    o[7] = __vcmpgtu4(x, y);
    asm("vadd.s32.s32.u32.sat %0, %1.b3, %2.h0;" : "=r"(r) : "r"(x), "r"(y));
    o[8] = r;
    asm("vsub.s32.u32.u32.max %0, %1.h1, %2.h0, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(5));
    o[9] = r;
    asm("vmad.s32.s32.s32.shr7 %0, %1.h0, %2.h1, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(x));
    o[10] = r;
    asm("vavrg4.u32.u32.u32 %0.b20, %1.b7531, %2.b0123, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(y));
    o[11] = r;
    asm("{\n\t.reg .pred p, q;\n\tsetp.lt.u32 q, %2, %3;\n\tlop3.and.b32 %0|p, %2, %3, 0xff00ff00, 0x80, q;\n\t"
        "selp.u32 %1, 1, 0, p;\n\t}"
        : "=r"(r), "=r"(s)
        : "r"(x), "r"(y));
    o[12] = r ^ s;
    asm("cvt.pack.sat.s4.s32.b32 %0, %1, %2, %3;" : "=r"(r) : "r"((int)x >> 27), "r"((int)y >> 27), "r"(x));
    o[13] = r;
    unsigned n = i % 7 + 1, *mine = static_cast<unsigned *>(__builtin_alloca(n * 4));
    for (unsigned k = 0; k < n; ++k)
        mine[k] = x + k * y;
    s = 0;
    for (unsigned k = 0; k < n; ++k)
        s = s * 3 + mine[(k + i) % n];
    o[14] = s;
    o[15] = __viaddmax_s16x2_relu(x, y, x);
}
