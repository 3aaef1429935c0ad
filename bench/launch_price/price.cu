// What one launch costs, by the host's clock and by the stream's: `price [LAUNCHES [own]]`, in the default stream or in
// one of its own. Prints one line of JSON, in nanoseconds a launch:
//
//   empty    a kernel that does nothing, launched again and again: until the call returns, and until all have run
//   work     a kernel of some 20 us, likewise: the stream is always busy, so this is the price on the stream
//   waited   a launch of the empty kernel and a wait for it
//   graph    a graph of 100 nodes of `work`, per node
#include <chrono>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                      \
    do {                                                                                 \
        cudaError_t error = (call);                                                      \
        if (error != cudaSuccess) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
            std::exit(1);                                                                \
        }                                                                                \
    } while (0)

__global__ void empty() {}

__global__ void work(const int *in, int *out, int trips) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, x = in[i];
    for (int t = 0; t < trips; t++) x = x * 1664525 + 1013904223;
    if (in[i] % 3 == 0) x = -x;
    out[i] = x;
}

static double now() {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int main(int count, char **words) {
    const int launches = count > 1 ? std::atoi(words[1]) : 100000, blocks = 264, threads = 256, trips = 12000;
    int *in, *out;
    CHECK(cudaMalloc(&in, blocks * threads * sizeof(int)));
    CHECK(cudaMalloc(&out, blocks * threads * sizeof(int)));
    CHECK(cudaMemset(in, 1, blocks * threads * sizeof(int)));
    cudaStream_t stream = 0, captured;
    CHECK(cudaStreamCreateWithFlags(&captured, cudaStreamNonBlocking));
    if (count > 2) stream = captured;
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));

    for (int i = 0; i < 100; i++) {
        empty<<<1, 32, 0, stream>>>();
        work<<<blocks, threads, 0, stream>>>(in, out, trips);
    }
    CHECK(cudaStreamSynchronize(stream));

    double start = now();
    for (int i = 0; i < launches; i++) empty<<<1, 32, 0, stream>>>();
    double called = (now() - start) / launches;
    CHECK(cudaStreamSynchronize(stream));
    double ran = (now() - start) / launches;

    // The host runs ahead by at most a few hundred launches: the stream is always busy.
    const int works = launches / 5;
    float millis;
    CHECK(cudaEventRecord(begin, stream));
    for (int i = 0; i < works; i++) work<<<blocks, threads, 0, stream>>>(in, out, trips);
    CHECK(cudaEventRecord(end, stream));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&millis, begin, end));
    double busy = millis * 1e6 / works;

    const int waits = launches / 20;
    start = now();
    for (int i = 0; i < waits; i++) {
        empty<<<1, 32, 0, stream>>>();
        CHECK(cudaStreamSynchronize(stream));
    }
    double waited = (now() - start) / waits;

    cudaGraph_t graph;
    cudaGraphExec_t exec;
    const int nodes = 100, replays = works / nodes;
    CHECK(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < nodes; i++) work<<<blocks, threads, 0, captured>>>(in, out, trips);
    CHECK(cudaStreamEndCapture(captured, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaEventRecord(begin, stream));
    for (int i = 0; i < replays; i++) CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaEventRecord(end, stream));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&millis, begin, end));
    double node = millis * 1e6 / (replays * nodes);

    std::printf("{\"empty, call\": %.0f, \"empty, run\": %.0f, \"work\": %.0f, \"waited\": %.0f, \"graph node\": %.0f}\n",
                called, ran, busy, waited, node);
}
