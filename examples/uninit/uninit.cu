// The best score of each player over several rounds. `best` holds the result and, between launches, the state.

extern "C" __global__ void best_scores(const float *scores, int players, int rounds, float *best, int *best_round)
{
    int player = blockIdx.x * blockDim.x + threadIdx.x;
    if (player >= players) {
        return;
    }
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
        float score = scores[round * players + player];
        if (score > best[player]) {
            best[player] = score;
            best_round[player] = round;
        }
    }
}
