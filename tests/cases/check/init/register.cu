// A register is declared, and read without having been set.
extern "C" __global__ void register_(int *out)
{
    int v;
#ifdef FIXED
    asm volatile("{\n\t.reg .b32 t;\n\tmov.b32 t, 4;\n\tadd.s32 %0, t, 1;\n\t}" : "=r"(v));
#else
    asm volatile("{\n\t.reg .b32 t;\n\tadd.s32 %0, t, 1;\n\t}" : "=r"(v));
#endif
    out[threadIdx.x] = v; // FAULT
}
