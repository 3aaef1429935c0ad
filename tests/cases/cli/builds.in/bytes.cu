// The lowest byte of each word, as it is and with its sign, and a constant: stores of less than a register.
__global__ void bytes(const int *in, unsigned char *low, int *wide, int *last) {
    int t = threadIdx.x;
    int word = in[t];
    signed char sign = ((const signed char *)in)[4 * t];
    low[t] = (unsigned char)word;
    wide[t] = sign;
    last[t] = -1;
}
