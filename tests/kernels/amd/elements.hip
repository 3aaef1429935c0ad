// Elements of each type, for the types that `prlx new` guesses.

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 96))) void elements(
    const _Float16 *half, const __bf16 *brain, const double *wide, const unsigned *words, const short *small,
    const signed char *bytes, const float4 *four, const int *table, float *out, double *sum, unsigned *greatest,
    int n, float scale)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float4 v = four[i];
    out[i] = (float)half[i] * scale + (float)brain[i] + v.x * v.y + (float)small[i] * v.z + (float)bytes[i];
    sum[i] = wide[i] * wide[i];
    atomicMax(greatest, words[table[blockIdx.x]]);
}
