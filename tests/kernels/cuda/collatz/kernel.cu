// Steps to reach 1: a loop whose trip count differs in every lane.
extern "C" __global__ void collatz(unsigned *steps, unsigned *peak, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned v = i + 1, most = v, count = 0;
    while (v != 1) {
        if (v & 1)
            v = 3 * v + 1;
        else
            v >>= 1;
        if (v > most)
            most = v;
        ++count;
    }
    steps[i] = count;
    peak[i] = most;
}
