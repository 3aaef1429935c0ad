// Open addressing with linear probing: keys claimed by 64-bit compare-and-swap, counts added; then every key looked up.
extern "C" __global__ void hash_table(const unsigned long long *keys, int n, unsigned long long *slots,
                                      unsigned *counts, unsigned capacity, unsigned *total)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned long long key = keys[i];
    unsigned h = (unsigned)((key * 0x9E3779B97F4A7C15ull) >> 32) % capacity;
    for (unsigned probe = 0; probe < capacity; ++probe) {
        unsigned at = (h + probe) % capacity;
        unsigned long long seen = atomicCAS(&slots[at], ~0ull, key);
        if (seen == ~0ull || seen == key) {
            if (atomicAdd(&counts[at], 1u) == 0)
                atomicAdd(total, 1u);
            return;
        }
    }
}
