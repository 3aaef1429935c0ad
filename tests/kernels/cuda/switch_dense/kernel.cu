// A dense switch with unlike cases: a branch through a table (brx.idx), its index from memory, with fall-through.
extern "C" __global__ void switch_dense(const unsigned *op, const int *x, int *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int v = x[i];
    switch (op[i]) {
    case 0: v = v * 3 + y[i]; break;
    case 1: v = -v; break;
    case 2: v ^= 0x5a5a; // falls through
    case 3: v += __popc(v); break;
    case 4: for (int k = v & 7; k > 0; --k) v = v * 5 + k; break;
    case 5: v = v / 7; break;
    case 6: v = v % 11; break;
    case 7: atomicAdd(&y[n], 1); break;
    case 8: v = __clz(v); break;
    case 9: v = min(v, 40) << 2; break;
    case 10: v = __brev(v); break;
    case 11: if (v > 0) v = x[v % n]; break;
    default: return;
    }
    y[i] = v;
}
