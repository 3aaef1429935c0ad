// Transposes a matrix whose rows are padded to `pitch` elements. The result has rows of `rows` elements.

extern "C" __global__ void transpose(const float *in, float *out, int rows, int columns, int pitch)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y;
    if (column < columns) {
        out[column * rows + row] = in[row * pitch + column];
    }
}
