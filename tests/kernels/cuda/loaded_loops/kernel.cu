// Loops whose lengths follow from loaded data: from one number before the loop, and from a load in each iteration.
extern "C" __global__ void loaded_loops(const unsigned long long *number, const unsigned char *text,
                                        unsigned *steps, unsigned *lengths, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned long long v = number[i];
    unsigned count = 0;
    while (v > 1) {
        v = v & 1 ? 3 * v + 1 : v >> 1;
        ++count;
    }
    steps[i] = count;

    // Three words, each ended by a zero; every third lane has no second one.
    const unsigned char *at = text + 64 * i;
    unsigned length = 0;
    for (unsigned word = 1; word <= 3; ++word) {
        if (word != 2 || i % 3)
            while (*at++)
                ++length;
        length *= 3;
    }
    lengths[i] = length;
}
