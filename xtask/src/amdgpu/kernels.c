// Kernels whose machine code `cargo xtask amdgpu` compares with llvm-objdump. Nobody runs them.
#define KERNEL __attribute__((amdgpu_kernel)) void
#define ID __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()
typedef __attribute__((address_space(1))) float *Floats;
typedef __attribute__((address_space(1))) int *Ints;
typedef __attribute__((address_space(1))) double *Doubles;
typedef __attribute__((address_space(1))) _Float16 *Halves;
typedef __attribute__((address_space(1))) unsigned long *Longs;
typedef float float4 __attribute__((ext_vector_type(4)));

KERNEL add(Floats a, Floats b, Floats c, int n) {
    int i = GROUP * 256 + ID;
    if (i < n) c[i] = a[i] + b[i];
}

KERNEL collatz(Ints in, Ints out) {
    unsigned v = in[ID], steps = 0;
    while (v != 1 && steps < 1000) {
        v = v & 1 ? 3 * v + 1 : v / 2;
        steps++;
    }
    out[ID] = steps;
}

static __attribute__((address_space(3), loader_uninitialized)) float shared[256];

KERNEL reduce(Floats in, Floats out) {
    int i = ID;
    shared[i] = in[GROUP * 256 + i];
    for (int step = 128; step; step >>= 1) {
        __builtin_amdgcn_s_barrier();
        if (i < step) shared[i] += shared[i + step];
    }
    if (i == 0) out[GROUP] = shared[0];
}

KERNEL histogram(Ints in, Ints bins) {
    __atomic_fetch_add(&bins[in[ID] & 63], 1, __ATOMIC_RELAXED);
}

KERNEL spin(Ints lock, Floats sum, Floats in) {
    while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) __builtin_amdgcn_s_sleep(1);
    *sum += in[ID];
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

KERNEL doubles(Doubles a, Doubles b) {
    double x = a[ID];
    b[ID] = x * x + 1.0 / x - (double)(int)x;
}

KERNEL halves(Halves a, Halves b) {
    _Float16 x = a[ID];
    b[ID] = x * (_Float16)2.5f + a[ID + 64] - (_Float16)(short)x;
}

KERNEL longs(Longs a, Longs b) {
    unsigned long x = a[ID];
    b[ID] = x * 0x123456789abcdefUL + (x >> 7) % 1000003;
}

KERNEL vectors(__attribute__((address_space(1))) float4 *a) {
    float4 x = a[ID], sum = 0;
    for (int i = 1; i < 9; i++) sum += a[ID + i * 64] * x.wzyx;
    a[ID] = sum;
}

KERNEL stack(Floats in, Floats out, int n) {
    float kept[40];
    for (int i = 0; i < 40; i++) kept[i] = in[i * n];
    for (int i = 0; i < n; i++) kept[(i * 7) % 40] += kept[i % 40];
    out[ID] = kept[n % 40];
}

__attribute__((noinline)) static float twice(float x, int n) {
    for (int i = 0; i < n; i++) x += x;
    return x;
}

KERNEL calls(Floats in, Floats out) {
    out[ID] = twice(in[ID], 3) - twice(in[ID + 1], in[0] > 1 ? 7 : 2);
}

KERNEL shuffle(Ints a) {
    int x = a[ID];
    x += __builtin_amdgcn_ds_bpermute((ID ^ 1) * 4, x);
    x += __builtin_amdgcn_update_dpp(0, x, 0xb1, 0xf, 0xf, 0);
    x += __builtin_amdgcn_readfirstlane(x);
    a[ID] = x + __builtin_popcount(x) + __builtin_clz(x | 1);
}

KERNEL choose(Ints a, int n) {
    switch (a[ID] % 5) {
    case 0: a[ID] = n; break;
    case 1: a[ID] *= n; break;
    case 2: a[ID] ^= 0x55; break;
    case 3: a[ID] = a[n]; break;
    default: a[n] = 1;
    }
}
