// Operations that the kernels of the corpus do not have, for faults planted in them (`planted_amd.rs`). Each kernel
// takes `in` and `out`, 128 words, and one wave of 64 lanes or two of 32. Results are exact.

typedef _Float16 half2 __attribute__((ext_vector_type(2)));
typedef float float2v __attribute__((ext_vector_type(2)));
typedef float float4v __attribute__((ext_vector_type(4)));
typedef float float8v __attribute__((ext_vector_type(8)));
typedef _Float16 half16 __attribute__((ext_vector_type(16)));

#define KERNEL(name) extern "C" __global__ void name(const unsigned *__restrict in, unsigned *__restrict out)
#define LANE (int)threadIdx.x

// The next lower lane of a row of 16, the lane opposite in the row, and the first of a quad.
KERNEL(rows) {
    int x = in[LANE];
    int below = __builtin_amdgcn_update_dpp(-1, x, 0x111, 0xf, 0xf, false);
    int opposite = __builtin_amdgcn_update_dpp(0, x, 0x140, 0xf, 0xf, false);
    int first = __builtin_amdgcn_update_dpp(7, x, 0x00, 0xf, 0x5, false);
    out[LANE] = below ^ opposite << 8 ^ first << 16;
}

// Sends a value on by seven lanes, and reads lanes that memory names.
KERNEL(lanes) {
    int x = in[LANE];
    int sent = __builtin_amdgcn_ds_permute((LANE + 7) * 4, x);
    int named = __builtin_amdgcn_readlane(x, in[64] & 31);
    int swapped = __builtin_amdgcn_ds_swizzle(x, 0x041f);
    out[LANE] = sent + 3 * named + 5 * swapped;
}

// Sums and products of scalars, with carries.
KERNEL(scalars) {
    unsigned long long a = *(const unsigned long long *)in, b = *(const unsigned long long *)(in + 2);
    unsigned high = (unsigned long long)in[0] * in[1] >> 32;
    unsigned chosen = in[4] < in[5] ? in[0] : in[3];
    int part = (int)(in[1] << 7) >> 20;
    unsigned long long sum = a + b, difference = a - b;
    unsigned long long far = (a << (in[6] & 63)) ^ b >> (in[5] & 63);
    unsigned all = sum ^ sum >> 32 ^ difference ^ (difference >> 32) * 3 ^ high * 5 ^ chosen * 7 ^ part * 9 ^ far * 11 ^ (far >> 32) * 13;
    out[LANE] = all + __builtin_popcountll(a) + LANE;
}

// Both halves of a register, and halves that an operation takes from another place.
KERNEL(halves) {
    half2 a = __builtin_bit_cast(half2, in[LANE]), b = __builtin_bit_cast(half2, in[LANE + 64]);
    half2 swapped = {b.y, b.x}, low = {b.x, b.x};
    half2 c = a * swapped + low;
    out[LANE] = __builtin_bit_cast(unsigned, c);
    out[LANE + 64] = __builtin_bit_cast(unsigned, a - b);
}

// Lanes in loops of both sides of a condition.
KERNEL(branches) {
    unsigned x = in[LANE], n = 0;
    if (x & 1) {
        for (; x > 1000; ++n)
            x -= x >> 2;
    } else {
        for (unsigned m = in[LANE + 64] & 31; m; --m)
            x = x * 5 + m;
        n = 7;
    }
    out[LANE] = x + n;
}

// Sums of 64 bits that eight lanes add to each, of numbers with both halves.
KERNEL(counted) {
    unsigned long long x = (unsigned long long)in[LANE] << 9;
    __hip_atomic_fetch_add((unsigned long long *)out + (LANE & 7), x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// Sums and differences of 128 bits.
KERNEL(carries) {
    unsigned __int128 a = in[LANE], b = in[LANE + 64];
    a = a << 64 | (unsigned long long)~(unsigned)b << 32 | (unsigned)~a;
    b = b << 64 | (unsigned long long)(unsigned)b << 32 | in[LANE];
    unsigned __int128 sum = a + b + 1, difference = a - b;
    out[LANE] = (unsigned)(sum >> 64) * 3 + (unsigned)(sum >> 96);
    out[LANE + 64] = (unsigned)(difference >> 64) * 3 + (unsigned)(difference >> 96);
}

// Two words of LDS at a time.
KERNEL(tiles) {
    __shared__ unsigned tile[128];
    tile[LANE] = in[LANE];
    tile[LANE + 64] = in[LANE + 64];
    __syncthreads();
    out[LANE] = tile[63 - LANE] * 3 + tile[127 - LANE];
}

// Sums that are rounded upwards, and one that is not, of integers beyond those that a float holds.
KERNEL(modes) {
    float a = (float)(1 << 24), b = (float)(in[LANE] & 63);
    float up, nearest;
    asm volatile("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1\n\tv_add_f32 %0, %2, %3\n\t"
                 "s_nop 0\n\ts_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 0\n\tv_add_f32 %1, %2, %3"
                 : "=&v"(up), "=v"(nearest) : "v"(a), "v"(b));
    out[LANE] = (unsigned)up;
    out[LANE + 64] = (unsigned)nearest;
}

// Bytes and halves of memory with their signs, and bytes of registers.
KERNEL(parts) {
    int byte = ((const signed char *)in)[LANE], half = ((const short *)in)[LANE + 64];
    float third = (float)(in[LANE] >> 16 & 255);
    int field = (int)(in[LANE] << 5) >> 21;
    out[LANE] = byte * 3 + half * 5 + (int)third * 7 + field * 11;
    ((unsigned char *)out)[4 * 64 + LANE] = in[LANE] >> 8;
}

#if defined(__gfx942__)
// Atomic operations on LDS that return what was there. Lanes of a wave come in order.
KERNEL(shared) {
    __shared__ unsigned most[16], order[16], last;
    if (LANE < 16) {
        most[LANE] = 0;
        order[LANE] = 0;
    }
    if (LANE == 16)
        last = 5;
    __syncthreads();
    unsigned x = in[LANE];
    unsigned bits = atomicOr(&order[LANE & 15], 1u << (LANE >> 4));
    atomicMax((int *)&most[LANE & 15], (int)(x & 0xffff) - 0x4000);
    unsigned was = atomicCAS(&last, 5, 9);
    __syncthreads();
    out[LANE] = most[LANE & 15] * 64 + __builtin_popcount(bits) + (was == 5 ? 32 : 0);
    out[LANE + 64] = last + order[15 - (LANE & 15)];
}
#endif

// Quotients, remainders of scaling, and the middle of three.
KERNEL(divided) {
    float a = __builtin_bit_cast(float, in[LANE]), b = __builtin_bit_cast(float, in[LANE + 64]);
    out[LANE] = __builtin_bit_cast(unsigned, a / b);
    out[LANE + 64] = __builtin_bit_cast(unsigned, __builtin_amdgcn_fmed3f(a, b, 1.0f));
}

// Integers and floating-point values, and halves that are rounded.
KERNEL(converted) {
    float x = (float)(int)in[LANE];
    _Float16 half = (_Float16)(x * (1.0f / (1 << 20)));
    double wide = (double)in[LANE] * 0.5;
    out[LANE] = __builtin_bit_cast(unsigned, x) ^ (unsigned)__builtin_bit_cast(unsigned short, half) << 16;
    out[LANE + 64] = (unsigned)wide + (unsigned)(int)__builtin_rintf(x * (1.0f / (1 << 28)));
}

#if defined(__gfx942__)
// A product of 16 by 4 and 4 by 16 elements, added to what is there.
KERNEL(matrix) {
    float a = (float)(in[LANE] & 15), b = (float)(in[LANE + 64] & 15);
    float4v c = {1, 2, 3, 4};
    c = __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, c, 0, 0, 0);
    out[LANE] = (int)c.x | (int)c.y << 16;
    out[LANE + 64] = (int)c.z | (int)c.w << 16;
}

// Pairs of floats.
KERNEL(pairs) {
    float2v a = {(float)(in[LANE] & 255), (float)(in[LANE] >> 8 & 255)};
    float2v b = {(float)(in[LANE + 64] & 255), (float)(in[LANE + 64] >> 8 & 255)};
    float2v c = __builtin_elementwise_fma(a, b, (float2v){b.y, a.x});
    out[LANE] = (int)c.x;
    out[LANE + 64] = (int)c.y;
}
#endif

#if defined(__gfx1100__)
// A product of 16 by 16 and 16 by 16 elements: row r of A is in lane r, column r of B too.
KERNEL(matrix) {
    half16 a, b;
    for (int i = 0; i < 16; ++i) {
        a[i] = (_Float16)(int)(in[(LANE & 15) * 4 + i / 4] >> (i % 4 * 8) & 7);
        b[i] = (_Float16)(int)(in[(LANE & 15) * 4 + i / 4 + 64] >> (i % 4 * 8) & 7);
    }
    float8v c = {1, 2, 3, 4, 5, 6, 7, 8};
    c = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c);
    out[LANE] = (int)c[0] | (int)c[1] << 16;
    out[LANE + 64] = (int)c[6] | (int)c[7] << 16;
}

// The other row of 16, and a lane of eight.
KERNEL(crossed) {
    int x = in[LANE];
    int other = __builtin_amdgcn_permlanex16(x, x, 0x76543210, 0xfedcba98, false, false);
    int eighth = __builtin_amdgcn_mov_dpp8(x, 0xde54c1);
    int mirrored = __builtin_amdgcn_update_dpp(0, x, 0x163, 0xf, 0xf, false);
    out[LANE] = other ^ eighth << 8 ^ mirrored << 16;
}
#endif
