// Sorts 256 keys a CTA with a bitonic network in shared memory; odd CTAs sort downwards.
extern "C" __global__ void bitonic_sort(unsigned *keys)
{
    __shared__ unsigned s[256];
    unsigned t = threadIdx.x;
    unsigned *mine = keys + blockIdx.x * 256;
    s[t] = mine[t];
    bool down = blockIdx.x & 1;
    for (unsigned k = 2; k <= 256; k *= 2) {
        for (unsigned j = k / 2; j > 0; j /= 2) {
            __syncthreads();
            unsigned other = t ^ j;
            if (other > t) {
                bool up = ((t & k) == 0) != down;
                unsigned a = s[t], b = s[other];
                if ((a > b) == up) {
                    s[t] = b;
                    s[other] = a;
                }
            }
        }
    }
    __syncthreads();
    mine[t] = s[t];
}
