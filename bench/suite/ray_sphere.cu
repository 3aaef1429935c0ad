// The nearest hit of each loaded ray among spheres (centre, radius), with two early outs a sphere.
extern "C" __global__ void ray_sphere(const float *__restrict__ origin, const float *__restrict__ direction,
                                      const float4 *__restrict__ spheres, int count,
                                      float *__restrict__ distance, int *__restrict__ which, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    // Components lie in planes of n.
    float ox = origin[i], oy = origin[n + i], oz = origin[2 * n + i];
    float dx = direction[i], dy = direction[n + i], dz = direction[2 * n + i];
    float scale = rsqrtf(dx * dx + dy * dy + dz * dz);
    dx *= scale, dy *= scale, dz *= scale;
    float nearest = 1e30f;
    int hit = -1;
    for (int s = 0; s < count; s++) {
        float4 sphere = spheres[s];
        float x = sphere.x - ox, y = sphere.y - oy, z = sphere.z - oz;
        float along = x * dx + y * dy + z * dz;
        float outside = x * x + y * y + z * z - sphere.w * sphere.w;
        if (outside > 0.0f && along < 0.0f)
            continue; // The ray leads away from the sphere.
        float square = along * along - outside;
        if (square < 0.0f)
            continue; // The ray passes it.
        float root = sqrtf(square);
        float t = outside > 0.0f ? along - root : along + root;
        if (t < nearest) {
            nearest = t;
            hit = s;
        }
    }
    distance[i] = nearest;
    which[i] = hit;
}
