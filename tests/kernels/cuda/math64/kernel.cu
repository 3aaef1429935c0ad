// 64-bit integers: wide products, high words, shifts by variable amounts, comparisons, modular exponentiation.
extern "C" __global__ void math64(const unsigned long long *a, const unsigned long long *b, unsigned long long *high,
                                  unsigned long long *mixed, unsigned long long *power, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned long long x = a[i], y = b[i];
    high[i] = __umul64hi(x, y);
    unsigned long long m = (x << (y & 63)) ^ (y >> (x & 63));
    m += (long long)x < (long long)y ? x - y : ~y;
    mixed[i] = m + __popcll(x) + __clzll(y | 1) + __ffsll(x);
    unsigned long long p = 1, base = x % 1000003, e = y & 0xff;
    while (e) {
        if (e & 1)
            p = p * base % 1000003;
        base = base * base % 1000003;
        e >>= 1;
    }
    power[i] = p;
}
