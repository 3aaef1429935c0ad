// Edit distance of 48 pairs of words, a thread a pair, the row of the table in local memory, words of unequal lengths.
#define LONGEST 24

extern "C" __global__ void levenshtein(const char *first, const char *second, int *distance, int pairs)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pairs)
        return;
    const char *a = first + i * LONGEST, *b = second + i * LONGEST;
    unsigned char row[LONGEST + 1];
    int length = 0;
    while (length < LONGEST && b[length])
        ++length;
    for (int j = 0; j <= length; ++j)
        row[j] = j;
    for (int k = 0; k < LONGEST && a[k]; ++k) {
        int corner = row[0];
        row[0] = k + 1;
        for (int j = 0; j < length; ++j) {
            int best = corner + (a[k] != b[j]);
            corner = row[j + 1];
            best = min(best, min(row[j], row[j + 1]) + 1);
            row[j + 1] = best;
        }
    }
    distance[i] = row[length];
}
