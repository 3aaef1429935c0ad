// Votes and matches: any, all, ballot, match_any, match_all, activemask under divergence, lane masks.
extern "C" __global__ void warp_votes(const int *x, unsigned *ballots, unsigned *same, unsigned *agree, unsigned *odd)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, v = x[i];
    unsigned full = 0xffffffffu;
    unsigned b = __ballot_sync(full, v > 0);
    b += __any_sync(full, v > 95) ? 1 : 0;
    b += __all_sync(full, v > -90) ? 2 : 0;
    ballots[i] = b;
    same[i] = __match_any_sync(full, v & 7);
    int uniform;
    unsigned all = __match_all_sync(full, blockIdx.x == 0 ? 5 : v, &uniform);
    agree[i] = all + uniform;
    unsigned mask = 0;
    if (v & 1)
        mask = __ballot_sync(__activemask(), v > 10);
    odd[i] = mask;
}
