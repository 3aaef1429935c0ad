// Twelve generations on a torus of 32 x 32 cells in shared memory, a thread a cell.
extern "C" __global__ void game_of_life(unsigned char *cells, int generations)
{
    __shared__ unsigned char s[2][32][32];
    int x = threadIdx.x, y = threadIdx.y;
    s[0][y][x] = cells[y * 32 + x];
    __syncthreads();
    for (int g = 0; g < generations; ++g) {
        int count = 0;
        for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx)
                if (dx || dy)
                    count += s[g & 1][(y + dy) & 31][(x + dx) & 31];
        bool alive = s[g & 1][y][x] ? count == 2 || count == 3 : count == 3;
        s[~g & 1][y][x] = alive;
        __syncthreads();
    }
    cells[y * 32 + x] = s[generations & 1][y][x];
}
