// What the kernels here say of themselves, in three forms: nothing; markers of PRLX (-DPRLX); and the scheme of TVM's CudaProfiler written
// out by hand (-DSEED), which docs call the seed's: a record is the global timer's low half above a tag, which one leader of a
// group stores into a buffer that is a parameter; every thread passes a fence of its CTA behind a begin and before an end. How far a leader's next
// record lies from its last one is a constant there, and so here: no less than there are groups in the grid.
#pragma once
#include <cstdint>

#if defined(SEED)

template <uint32_t STRIDE> struct Marks {
    uint64_t *buffer, tag;
    uint32_t at;
    bool leader;

    // Groups are warps, their first lanes lead. All threads call it, before anything else.
    __device__ __forceinline__ Marks(uint64_t *into)
    {
        uint32_t groups = (blockDim.x + 31) / 32, blocks = gridDim.x * gridDim.y * gridDim.z;
        uint32_t lane = ((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * groups + threadIdx.x / 32;
        buffer = into;
        if (lane == 0 && threadIdx.x == 0)
            buffer[0] = (uint64_t)groups << 32 | blocks;
        leader = threadIdx.x % 32 == 0;
        tag = (uint64_t)lane << 12;
        at = 1 + lane;
    }
    // Volatile as there, which takes it through local memory.
    static __device__ __forceinline__ uint32_t now()
    {
        volatile uint32_t time;
        asm volatile("mov.u32 %0, %globaltimer_lo;" : "=r"(time));
        return time;
    }
    __device__ __forceinline__ void write(uint32_t bits)
    {
        if (leader) {
            buffer[at] = (uint64_t)now() << 32 | (tag | bits);
            at += STRIDE;
        }
    }
    __device__ __forceinline__ void begin(uint32_t event)
    {
        write(event << 2);
        __threadfence_block();
    }
    __device__ __forceinline__ void end(uint32_t event)
    {
        __threadfence_block();
        write(event << 2 | 1);
    }
    __device__ __forceinline__ void finalize()
    {
        __threadfence_block();
        write(3);
    }
};
#define MARKS(buffer, stride) Marks<stride> marks(buffer)
#define BEGIN(name) marks.begin(name)
#define END(name) marks.end(name)
#define DONE() marks.finalize()

#else

#if defined(PRLX)
#include "prlx.cuh"
#define BEGIN(name) PRLX_BEGIN(name)
#define END(name) PRLX_END(name)
#else
#define BEGIN(name) ((void)0)
#define END(name) ((void)0)
#endif
#define MARKS(buffer, stride) ((void)0)
#define DONE() ((void)0)

#endif
