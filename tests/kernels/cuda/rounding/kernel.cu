// Rounding modes of arithmetic and conversion, saturation, flushed and kept subnormals, NaN and infinities.
extern "C" __global__ void rounding(const float *a, const float *b, float *sums, float *products, int *ints, float *odd)
{
    int i = threadIdx.x;
    float x = a[i], y = b[i];
    sums[4 * i] = __fadd_rn(x, y);
    sums[4 * i + 1] = __fadd_rz(x, y);
    sums[4 * i + 2] = __fadd_rd(x, y);
    sums[4 * i + 3] = __fadd_ru(x, y);
    products[4 * i] = __fmul_rz(x, y);
    products[4 * i + 1] = __fmaf_rd(x, y, x);
    products[4 * i + 2] = __fdiv_ru(x, y);
    products[4 * i + 3] = __fsqrt_rz(fabsf(x));
    ints[4 * i] = __float2int_rn(x);
    ints[4 * i + 1] = __float2int_rd(y);
    ints[4 * i + 2] = (int)__float2uint_ru(x);
    ints[4 * i + 3] = __double2int_rz((double)x * 1e9);
    float flushed;
    asm("mul.ftz.f32 %0, %1, %2;" : "=f"(flushed) : "f"(x * 1e-19f), "f"(y * 1e-19f));
    odd[4 * i] = __saturatef(x);
    odd[4 * i + 1] = fminf(x, i % 8 == 0 ? NAN : y);
    odd[4 * i + 2] = x * 1e-19f * (y * 1e-19f);
    odd[4 * i + 3] = flushed;
}
