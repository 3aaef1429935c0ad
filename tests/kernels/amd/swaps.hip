// Loops that repeat a compare-and-swap. Each begins with an ordinary read of the word.

// clang makes such a loop of it for RDNA, which has no atomic addition of binary64.
extern "C" __global__ void add(double *word, unsigned *) { atomicAdd(word, 1.0); }

static __device__ unsigned next(unsigned n) { return n * 5 + threadIdx.x % 2; }

static __device__ void repeat(unsigned *word, unsigned old)
{
    for (unsigned seen; (seen = atomicCAS(word, old, next(old))) != old; old = seen)
        ;
}

extern "C" __global__ void loop(unsigned *word, unsigned *) { repeat(word, *word); }

extern "C" __global__ void lds(unsigned *word, unsigned *)
{
    __shared__ unsigned sum;
    if (threadIdx.x == 0)
        sum = 7;
    __syncthreads();
    repeat(&sum, sum);
    __syncthreads();
    word[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// The others are races: the value is also stored,
extern "C" __global__ void stored(unsigned *word, unsigned *out)
{
    unsigned old = *word;
    out[blockIdx.x * blockDim.x + threadIdx.x] = old;
    repeat(word, old);
}

// it decides something,
extern "C" __global__ void bounded(unsigned *word, unsigned *)
{
    unsigned old = *word;
    if (old < 1000000)
        repeat(word, old);
}

// there is no second try,
extern "C" __global__ void once(unsigned *word, unsigned *)
{
    unsigned old = *word;
    atomicCAS(word, old, next(old));
}

// the swap expects another value,
extern "C" __global__ void guess(unsigned *word, unsigned *)
{
    unsigned old = *word;
    for (unsigned guess = 0, seen; (seen = atomicCAS(word, guess, next(old))) != guess; guess = seen)
        ;
}

// the read is of another word.
extern "C" __global__ void other(unsigned *word, unsigned *) { repeat(word, word[1]); atomicAdd(word + 1, 1u); }
