// corpus: keep sm_90a
// Integer instructions that compilers rarely write: 24-bit products, carries through a product, select by sign, masks,
// permutation modes, predicates from lop3, comparisons that combine, address-space queries.
__constant__ unsigned constant_word = 3;

extern "C" __global__ void rare_integer(const unsigned *a, const unsigned *b, unsigned *out)
{
    __shared__ unsigned shared_word;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, x = a[i], y = b[i], *o = out + i * 24, r, s;
    unsigned long long w;
    asm("mul24.lo.u32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
    o[0] = r;
    asm("mul24.hi.s32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
    o[1] = r;
    asm("mad24.lo.s32 %0, %1, %2, %1;" : "=r"(r) : "r"(x), "r"(y));
    o[2] = r;
    asm("mul.hi.s32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
    o[3] = r;
    asm("mad.hi.u32 %0, %1, %2, %1;" : "=r"(r) : "r"(x), "r"(y));
    o[4] = r;
    asm("mad.wide.s32 %0, %1, %2, %3;" : "=l"(w) : "r"(x), "r"(y), "l"(1ull << 40));
    o[5] = (unsigned)w ^ (unsigned)(w >> 32);
    asm("{\n\tsub.cc.u32 %0, %2, %3;\n\tsubc.u32 %1, %3, %2;\n\t}" : "=r"(r), "=r"(s) : "r"(x), "r"(y));
    o[6] = r ^ s << 1;
    asm("{\n\tmad.lo.cc.u32 %0, %2, %3, %2;\n\tmadc.hi.u32 %1, %2, %3, %3;\n\t}" : "=&r"(r), "=r"(s) : "r"(x), "r"(y));
    o[7] = r ^ s << 1;
    asm("slct.u32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(x ^ y));
    o[8] = r;
    asm("cnot.b32 %0, %1;" : "=r"(r) : "r"(x & 1));
    o[9] = r;
    asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(r) : "r"(x & 63), "r"(y & 63));
    o[10] = r;
    asm("bmsk.wrap.b32 %0, %1, %2;" : "=r"(r) : "r"(x & 63), "r"(y & 63));
    o[11] = r;
    asm("szext.wrap.s32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y & 63));
    o[12] = r;
    asm("szext.clamp.u32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y & 63));
    o[13] = r;
    asm("fns.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y & 31), "r"((int)(y >> 8 & 7) - 4));
    o[14] = r;
    asm("bfind.s32 %0, %1;" : "=r"(r) : "r"(x));
    asm("bfind.shiftamt.u32 %0, %1;" : "=r"(s) : "r"(y));
    o[15] = r * 64 + s;
    asm("shf.l.clamp.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(y & 63));
    asm("shf.r.clamp.b32 %0, %1, %2, %3;" : "=r"(s) : "r"(x), "r"(y), "r"(x & 63));
    o[16] = r ^ s;
    asm("prmt.b32.f4e %0, %1, %2, %1;" : "=r"(r) : "r"(x), "r"(y));
    asm("prmt.b32.rc16 %0, %1, %2, %2;" : "=r"(s) : "r"(x), "r"(y));
    o[17] = r ^ s;
    asm("prmt.b32.ecl %0, %1, %2, %2;" : "=r"(r) : "r"(x), "r"(y));
    asm("prmt.b32 %0, %1, %2, 0x8d2f;" : "=r"(s) : "r"(x), "r"(y));
    o[18] = r ^ s;
    asm("dp4a.u32.s32 %0, %1, %2, %1;" : "=r"(r) : "r"(x), "r"(y));
    asm("dp2a.hi.s32.u32 %0, %1, %2, %1;" : "=r"(s) : "r"(x), "r"(y));
    o[19] = r ^ s;
    asm("{\n\t.reg .pred p, q;\n\tsetp.lo.u32 p, %2, 0x80000000;\n\tsetp.lt.and.s32 p|q, %2, %3, p;\n\t"
        "selp.u32 %0, 1, 0, p;\n\tselp.u32 %1, 2, 0, q;\n\t}" : "=r"(r), "=r"(s) : "r"(x), "r"(y));
    o[20] = r + s;
    asm("{\n\t.reg .pred p;\n\tsetp.eq.u32 p, %1, 7;\n\tset.le.or.u32.s32 %0, %1, %2, p;\n\t}" : "=r"(r) : "r"(x), "r"(y));
    o[21] = r;
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(r) : "r"((int)x >> 23), "r"((int)y >> 24), "r"(x));
    asm("cvt.sat.u8.s32 %0, %1;" : "=r"(s) : "r"((int)x >> 22));
    o[22] = r ^ s << 8;
    unsigned local_word[2] = {x, y};
    asm("{\n\t.reg .pred g, s, l, c;\n\t.reg .u32 t;\n\t"
        "isspacep.global g, %1;\n\tisspacep.shared s, %2;\n\tisspacep.local l, %3;\n\tisspacep.shared c, %1;\n\t"
        "selp.u32 %0, 1, 0, g;\n\tselp.u32 t, 2, 0, s;\n\tadd.u32 %0, %0, t;\n\tselp.u32 t, 4, 0, l;\n\tadd.u32 %0, %0, t;\n\t"
        "selp.u32 t, 8, 0, c;\n\tadd.u32 %0, %0, t;\n\t}" : "=r"(r) : "l"(out), "l"(&shared_word), "l"(&local_word[y & 1]));
    o[23] = r + constant_word;
}
