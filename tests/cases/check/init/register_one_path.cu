// A register is set by a guarded instruction, and read whether the guard held or not.
extern "C" __global__ void register_one_path(int n, int *out)
{
    int v, t = threadIdx.x;
#ifdef FIXED
    asm volatile("{\n\t.reg .b32 t;\n\t.reg .pred p;\n\tmov.b32 t, 0;\n\tsetp.lt.s32 p, %1, %2;\n\t@p mov.b32 t, 4;\n\tadd.s32 %0, t, 1;\n\t}" : "=r"(v) : "r"(t), "r"(n));
#else
    asm volatile("{\n\t.reg .b32 t;\n\t.reg .pred p;\n\tsetp.lt.s32 p, %1, %2;\n\t@p mov.b32 t, 4;\n\tadd.s32 %0, t, 1;\n\t}" : "=r"(v) : "r"(t), "r"(n));
#endif
    out[t] = v; // FAULT
}
