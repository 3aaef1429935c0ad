// Float instructions that compilers rarely write: classification, copysign, NaN-aware minima, saturation, relu,
// conversions that round to whole numbers, unordered comparisons, half-precision and double approximations.
extern "C" __global__ void rare_float(const float *a, const float *b, unsigned *bits, float *close)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, *o = bits + i * 16, r;
    float x = a[i], y = b[i], f, *c = close + i * 8;
    asm("{\n\t.reg .pred f, i, n, u, m, s;\n\t.reg .u32 t;\n\t"
        "testp.finite.f32 f, %1;\n\ttestp.infinite.f32 i, %1;\n\ttestp.number.f32 n, %1;\n\t"
        "testp.notanumber.f32 u, %1;\n\ttestp.normal.f32 m, %1;\n\ttestp.subnormal.f32 s, %1;\n\t"
        "selp.u32 %0, 1, 0, f;\n\tselp.u32 t, 2, 0, i;\n\tadd.u32 %0, %0, t;\n\tselp.u32 t, 4, 0, n;\n\tadd.u32 %0, %0, t;\n\t"
        "selp.u32 t, 8, 0, u;\n\tadd.u32 %0, %0, t;\n\tselp.u32 t, 16, 0, m;\n\tadd.u32 %0, %0, t;\n\t"
        "selp.u32 t, 32, 0, s;\n\tadd.u32 %0, %0, t;\n\t}" : "=r"(r) : "f"(x));
    o[0] = r;
    asm("copysign.f32 %0, %1, %2;" : "=f"(f) : "f"(x), "f"(y));
    o[1] = __float_as_uint(f);
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(f) : "f"(x), "f"(y));
    o[2] = __float_as_uint(f);
    asm("max.f32 %0, %1, %2;" : "=f"(f) : "f"(x), "f"(y));
    o[3] = __float_as_uint(f);
    asm("add.sat.f32 %0, %1, %2;" : "=f"(f) : "f"(x), "f"(y));
    o[4] = __float_as_uint(f);
    asm("fma.rn.sat.f32 %0, %1, %2, %1;" : "=f"(f) : "f"(x), "f"(y));
    o[5] = __float_as_uint(f);
    asm("cvt.rni.f32.f32 %0, %1;" : "=f"(f) : "f"(x));
    o[6] = __float_as_uint(f);
    asm("cvt.rpi.f32.f32 %0, %1;" : "=f"(f) : "f"(x));
    o[7] = __float_as_uint(f);
    asm("cvt.rni.sat.u8.f32 %0, %1;" : "=r"(r) : "f"(x));
    o[8] = r & 255;
    asm("cvt.rzi.s64.f32 %0, %1;" : "=l"(*(long long *)(o + 10)) : "f"(x));
    asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(x), "f"(y));
    o[9] = r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(x), "f"(y));
    o[12] = r;
    asm("{\n\t.reg .pred p, q, r, s;\n\t.reg .u32 t;\n\t"
        "setp.ltu.f32 p, %1, %2;\n\tsetp.nan.f32 q, %1, %2;\n\tsetp.num.f32 r, %1, %2;\n\tsetp.ne.f32 s, %1, %2;\n\t"
        "selp.u32 %0, 1, 0, p;\n\tselp.u32 t, 2, 0, q;\n\tadd.u32 %0, %0, t;\n\tselp.u32 t, 4, 0, r;\n\tadd.u32 %0, %0, t;\n\t"
        "selp.u32 t, 8, 0, s;\n\tadd.u32 %0, %0, t;\n\t}" : "=r"(r) : "f"(x), "f"(y));
    o[13] = r;
    asm("set.gt.f32.f32 %0, %1, %2;" : "=f"(f) : "f"(x), "f"(y));
    o[14] = __float_as_uint(f);
    asm("slct.f32.s32 %0, %1, %2, %3;" : "=f"(f) : "f"(x), "f"(y), "r"(i % 2 ? -1 : 0));
    o[15] = __float_as_uint(f);
    float t = fminf(fabsf(y), 30.0f) + 0.125f;
    double d;
    asm("tanh.approx.f32 %0, %1;" : "=f"(c[0]) : "f"(t - 2.0f));
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(c[1]) : "f"(t));
    asm("div.full.f32 %0, %1, %2;" : "=f"(c[2]) : "f"(3.0f), "f"(t));
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(d) : "d"((double)t));
    c[3] = (float)d;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(d) : "d"((double)t));
    c[4] = (float)d;
    asm("{\n\t.reg .b16 h;\n\tcvt.rn.f16.f32 h, %1;\n\tex2.approx.f16 h, h;\n\tcvt.f32.f16 %0, h;\n\t}" : "=f"(c[5]) : "f"(-t));
    asm("{\n\t.reg .b16 h;\n\tcvt.rn.f16.f32 h, %1;\n\ttanh.approx.f16 h, h;\n\tcvt.f32.f16 %0, h;\n\t}" : "=f"(c[6]) : "f"(t - 2.0f));
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(c[7]) : "f"(t));
}
