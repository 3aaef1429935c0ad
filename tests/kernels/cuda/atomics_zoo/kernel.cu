// corpus: keep sm_90a
// Every kind of atomic: arithmetic, bitwise, wrapping counters, exchange, 16-bit, packed halves, floats, three scopes.
#include <cuda_fp16.h>

extern "C" __global__ void atomics_zoo(unsigned *u, unsigned long long *wide, float *f, __half2 *h, unsigned short *narrow)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&u[0], i);
    atomicSub(&u[1], 1u);
    atomicInc(&u[2], 99u);
    atomicDec(&u[3], 40u);
    atomicAnd(&u[4], ~(1u << (i & 31)) | 0x55555555u);
    atomicOr(&u[5], 1u << (i % 20));
    atomicXor(&u[6], i * 0x01010101u);
    atomicMin(&u[7], 1000u - i);
    atomicMax((int *)&u[8], (int)i - 100);
    atomicAdd_block(&u[9 + blockIdx.x], 3u);
    atomicAdd_system(&u[11], 2u);
    atomicMax(&wide[0], (unsigned long long)i << 33);
    atomicAdd(&wide[1], 1ull << 32);
    atomicXor(&wide[2], 0x0123456789ABCDEFull << (i & 7));
    atomicAdd(&f[0], 0.25f);
    float old = *(volatile float *)&f[1], seen;
    do {  // maximum of floats by compare-and-swap
        seen = old;
        float want = fmaxf(seen, (float)(i % 77));
        old = __uint_as_float(atomicCAS((unsigned *)&f[1], __float_as_uint(seen), __float_as_uint(want)));
    } while (__float_as_uint(old) != __float_as_uint(seen));
    atomicAdd(h, __floats2half2_rn(1.0f, 0.5f));
    unsigned short was = *(volatile unsigned short *)narrow, expected;
    do {
        expected = was;
        was = atomicCAS(narrow, expected, (unsigned short)(expected + 3));
    } while (was != expected);
    if (i == 5)
        atomicExch(&u[12], 777u);
}
