// Local alignment with affine gaps, one thread a pair of short sequences, a row of scores in local memory.
#include <cstdint>

constexpr int MOST = 32;

extern "C" __global__ void smith_waterman(const uint8_t *__restrict__ query,
                                          const int *__restrict__ query_size,
                                          const uint8_t *__restrict__ target,
                                          const int *__restrict__ target_size, int *__restrict__ score,
                                          int pairs, int match, int mismatch, int open, int extend)
{
    int pair = blockIdx.x * blockDim.x + threadIdx.x;
    if (pair >= pairs)
        return;
    const uint8_t *q = query + pair * MOST, *t = target + pair * MOST;
    int rows = query_size[pair], columns = target_size[pair];
    // Of the row above: the best score that ends at each column, and the best with a gap in the target.
    int16_t best[MOST], gap[MOST];
    for (int j = 0; j < columns; j++)
        best[j] = 0, gap[j] = -1000;
    int top = 0;
    for (int i = 0; i < rows; i++) {
        uint8_t letter = q[i];
        int corner = 0, left = 0, left_gap = -1000;
        for (int j = 0; j < columns; j++) {
            int above = best[j];
            int down = max(gap[j] - extend, above - open);
            left_gap = max(left_gap - extend, left - open);
            int here = corner + (letter == t[j] ? match : mismatch);
            here = max(max(here, 0), max(down, left_gap));
            corner = above;
            best[j] = here;
            gap[j] = down;
            left = here;
            if (here > top)
                top = here;
        }
    }
    score[pair] = top;
}
