// Inserts keys into an open-addressing hash table: from its home slot on, a key takes the first slot that is free.

constexpr unsigned EMPTY = 0xffffffffu;

__device__ __forceinline__ unsigned home(unsigned key, unsigned slots)
{
    return (key * 8u) & (slots - 1u);
}

extern "C" __global__ void insert(const unsigned *keys, int n, unsigned *table, unsigned slots, unsigned *where)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    unsigned key = keys[i];
    unsigned slot = home(key, slots);
#pragma unroll 1
    for (;;) {
        unsigned found = atomicCAS(&table[slot], EMPTY, key);
        if (found == EMPTY) {
            break;
        }
        slot = (slot + 1u) & (slots - 1u);
    }
    where[i] = slot;
}
