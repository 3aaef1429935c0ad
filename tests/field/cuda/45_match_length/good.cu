#define WINDOW 48
#define MAXLEN 18
extern "C" __global__ void lzss(const unsigned char *text, unsigned *length, int *where, int n) {
    __shared__ unsigned char tile[64 + WINDOW + MAXLEN];
    int first = blockIdx.x * 64;
    for (int i = threadIdx.x; i < 64 + WINDOW + MAXLEN; i += blockDim.x) {
        int at = first + i - WINDOW;
        tile[i] = at >= 0 ? text[at] : 255;
    }
    __syncthreads();
    int me = first + threadIdx.x;
    if (me >= n) return;
    int best = 0, from = -1;
    for (int back = 1; back <= WINDOW; back++) {
        int candidate = WINDOW + threadIdx.x - back;
        int len = 0;
        while (len < MAXLEN && tile[candidate + len] == tile[WINDOW + threadIdx.x + len])
            len++;
        if (len > best) {
            best = len;
            from = back;
        }
    }
    length[me] = best >= 3 ? best : 1;
    where[me] = best >= 3 ? from : 0;
}
