// Accelerations of 128 bodies, tiles of positions in shared memory, softened so that no pair is singular.
extern "C" __global__ void nbody(const float4 *body, float3 *accel, int n, float soft)
{
    __shared__ float4 tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = body[i];
    float3 a = make_float3(0.0f, 0.0f, 0.0f);
    for (int base = 0; base < n; base += 64) {
        tile[threadIdx.x] = body[base + threadIdx.x];
        __syncthreads();
#pragma unroll 4
        for (int j = 0; j < 64; ++j) {
            float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
            float inv = rsqrtf(dx * dx + dy * dy + dz * dz + soft);
            float f = tile[j].w * inv * inv * inv;
            a.x += dx * f;
            a.y += dy * f;
            a.z += dz * f;
        }
        __syncthreads();
    }
    accel[i] = a;
}
