// Division and remainder by runtime and by constant divisors, signed and unsigned, 32 and 64 bits.
extern "C" __global__ void integer_division(const int *a, const int *b, int *quotient, int *remainder,
                                            unsigned *by_seven, long long *wide, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int x = a[i], y = b[i];
    if (y == 0)
        return;
    quotient[i] = x / y;
    remainder[i] = x % y;
    by_seven[i] = (unsigned)x / 7u + (unsigned)x % 10u;
    long long big = (long long)x * 1000003ll + y;
    wide[i] = big / y + big % 1000ll;
}
