// Seven-point Laplacian on a 20 x 12 x 10 grid: a thread a column, its values along z sliding through registers.
extern "C" __global__ void stencil3d(const double *in, double *out, int nx, int ny, int nz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1)
        return;
    int plane = nx * ny, at = y * nx + x;
    double below = in[at], here = in[at + plane];
    for (int z = 1; z < nz - 1; ++z) {
        at += plane;
        double above = in[at + plane];
        out[at] = in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + below + above - 6.0 * here;
        below = here;
        here = above;
    }
}
