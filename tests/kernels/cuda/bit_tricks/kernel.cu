// Bit operations: count, reverse, leading zeros, extract and insert fields, permute bytes, funnel shifts, dot products of bytes.
extern "C" __global__ void bit_tricks(const unsigned *a, const unsigned *b, unsigned *count, unsigned *reversed,
                                      unsigned *field, unsigned *permuted, unsigned *shifted, int *dots, unsigned *logic)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = a[i], y = b[i];
    count[i] = __popc(x) | __clz(x) << 8 | __ffs(y) << 16;
    reversed[i] = __brev(x);
    unsigned r;
    asm("bfe.u32 %0, %1, %2, 7;" : "=r"(r) : "r"(x), "r"(y & 31));
    asm("bfi.b32 %0, %1, %0, 20, 6;" : "+r"(r) : "r"(y));
    field[i] = r;
    permuted[i] = __byte_perm(x, y, 0x5140);
    shifted[i] = __funnelshift_l(x, y, y) ^ __funnelshift_r(x, y, 13);
    dots[i] = __dp4a((int)x, (int)y, 100) + __dp2a_lo((int)x, (int)y, 0);
    unsigned l;
    asm("lop3.b32 %0, %1, %2, %3, 0xE8;" : "=r"(l) : "r"(x), "r"(y), "r"(x >> 3));
    logic[i] = l + __sad((int)x, (int)y, 1u) + __uhadd(x, y);
}
