// One warp, one tile of each: mma on s8 (k32), tf32 (k8), bf16 (k16) and f64 (m8n8k4); fragments read from memory.
#include <cstdint>

extern "C" __global__ void mma_shapes(const int8_t *a8, const int8_t *b8, int *c8, const float *a32, const float *b32,
                                      float *c32, const uint16_t *a16, const uint16_t *b16, float *c16,
                                      const double *a64, const double *b64, double *c64)
{
    int lane = threadIdx.x, g = lane >> 2, t = lane & 3;
    {   // D[16][8] = A[16][32] B[8][32]^T
        const uint32_t *a = reinterpret_cast<const uint32_t *>(a8), *b = reinterpret_cast<const uint32_t *>(b8);
        int d[4] = {};
        asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
            : "r"(a[g * 8 + t]), "r"(a[(g + 8) * 8 + t]), "r"(a[g * 8 + t + 4]), "r"(a[(g + 8) * 8 + t + 4]),
              "r"(b[g * 8 + t]), "r"(b[g * 8 + t + 4]));
        for (int i = 0; i < 4; ++i)
            c8[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = d[i];
    }
    {   // D[16][8] = A[16][8] B[8][8]^T, inputs rounded to tf32
        auto tf32 = [](float v) { uint32_t r; asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v)); return r; };
        float d[4] = {};
        asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(tf32(a32[g * 8 + t])), "r"(tf32(a32[(g + 8) * 8 + t])), "r"(tf32(a32[g * 8 + t + 4])),
              "r"(tf32(a32[(g + 8) * 8 + t + 4])), "r"(tf32(b32[g * 8 + t])), "r"(tf32(b32[g * 8 + t + 4])));
        for (int i = 0; i < 4; ++i)
            c32[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = d[i];
    }
    {   // D[16][8] = A[16][16] B[8][16]^T
        const uint32_t *a = reinterpret_cast<const uint32_t *>(a16), *b = reinterpret_cast<const uint32_t *>(b16);
        float d[4] = {};
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[g * 8 + t]), "r"(a[(g + 8) * 8 + t]), "r"(a[g * 8 + t + 4]), "r"(a[(g + 8) * 8 + t + 4]),
              "r"(b[g * 8 + t]), "r"(b[g * 8 + t + 4]));
        for (int i = 0; i < 4; ++i)
            c16[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = d[i];
    }
    {   // D[8][8] = A[8][4] B[8][4]^T
        double d[2] = {};
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
            : "+d"(d[0]), "+d"(d[1]) : "d"(a64[g * 4 + t]), "d"(b64[g * 4 + t]));
        c64[g * 8 + t * 2] = d[0];
        c64[g * 8 + t * 2 + 1] = d[1];
    }
}
