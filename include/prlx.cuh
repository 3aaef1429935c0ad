// Markers for PRLX: regions and moments inside a kernel, in CUDA and HIP. `prlx profile` turns a marker into a record of the
// multiprocessor's clock. One header, no library. `-DPRLX_OFF` removes all markers.
//
// CUDA: a marker is a label in its own scope in the PTX, for which the assembler generates no code.
//
// HIP on AMD GPUs: a marker is an `s_nop 0`, and an entry in the section `.prlx.markers`, which is not loaded. The entry is the
// address of the `s_nop` (`.quad`) and a text (`.asciz`): kind and name, then the words, each a number or the register that
// holds it, as in "begin_load v5 7". Host code has no markers.
//
//     PRLX_BEGIN(load);            PRLX_BEGIN_1(load, tile);            PRLX_BEGIN_2(load, tile, stage);
//     PRLX_END(load);              PRLX_INSTANT(late);                  PRLX_SWITCH(store);
//     PRLX_GROUP(producer, 0);     PRLX_LEADER(producer, 0, threadIdx.x == 0);
//
// Names are identifiers. Words are 32 bits of any value that converts to `unsigned`. A switch ends the open region and
// begins another with one record. See docs/markers.md.
//
// Markers keep their order among themselves and with memory accesses (`asm volatile` with a memory clobber). Register
// arithmetic may move across them. PRLX_LOOSE omits the clobber: then memory accesses may move too.
#pragma once

#if defined(PRLX_OFF) || defined(__HIP__) && !defined(__AMDGCN__)
#define PRLX_ASM_(text, ...) ((void)0)
#elif defined(PRLX_LOOSE)
#define PRLX_ASM_(text, ...) asm volatile(text : : __VA_ARGS__)
#else
#define PRLX_ASM_(text, ...) asm volatile(text : : __VA_ARGS__ : "memory")
#endif

#if defined(__AMDGCN__)
// The label is local, so that symbol tables and disassemblies are as without markers. `?`: of the function's group, if it has one.
#define PRLX_TEXT_(kind, name, words)                                                              \
    ".Lprlx%=:\n\ts_nop 0\n"                                                                       \
    "\t.pushsection .prlx.markers,\"?\",@progbits\n"                                                \
    "\t.quad .Lprlx%=\n\t.asciz \"" kind "_" name words "\"\n\t.popsection"
// A word is a constant or in a vector register.
#define PRLX_MARK_0_(kind, name) PRLX_ASM_(PRLX_TEXT_(kind, name, ""), )
#define PRLX_MARK_1_(kind, name, a) PRLX_ASM_(PRLX_TEXT_(kind, name, " %0"), "iv"((unsigned)(a)))
#define PRLX_MARK_2_(kind, name, a, b)                                                             \
    PRLX_ASM_(PRLX_TEXT_(kind, name, " %0 %1"), "iv"((unsigned)(a)), "iv"((unsigned)(b)))
#else
#define PRLX_WORD_(i) ".reg .b32 $prlx_p" #i "; mov.b32 $prlx_p" #i ", %" #i "; "
#define PRLX_MARK_0_(kind, name) PRLX_ASM_("{ $prlx_" kind "_" name ": }", )
#define PRLX_MARK_1_(kind, name, a) \
    PRLX_ASM_("{ " PRLX_WORD_(0) "$prlx_" kind "_" name ": }", "r"((unsigned)(a)))
#define PRLX_MARK_2_(kind, name, a, b) \
    PRLX_ASM_("{ " PRLX_WORD_(0) PRLX_WORD_(1) "$prlx_" kind "_" name ": }", "r"((unsigned)(a)), "r"((unsigned)(b)))
#endif

// Begin and end of a region.
#define PRLX_BEGIN(name) PRLX_MARK_0_("begin", #name)
#define PRLX_BEGIN_1(name, a) PRLX_MARK_1_("begin", #name, a)
#define PRLX_BEGIN_2(name, a, b) PRLX_MARK_2_("begin", #name, a, b)
#define PRLX_END(name) PRLX_MARK_0_("end", #name)
#define PRLX_END_1(name, a) PRLX_MARK_1_("end", #name, a)
#define PRLX_END_2(name, a, b) PRLX_MARK_2_("end", #name, a, b)
// A moment in time.
#define PRLX_INSTANT(name) PRLX_MARK_0_("instant", #name)
#define PRLX_INSTANT_1(name, a) PRLX_MARK_1_("instant", #name, a)
#define PRLX_INSTANT_2(name, a, b) PRLX_MARK_2_("instant", #name, a, b)
// The open region ends, and this one begins.
#define PRLX_SWITCH(name) PRLX_MARK_0_("switch", #name)
#define PRLX_SWITCH_1(name, a) PRLX_MARK_1_("switch", #name, a)
#define PRLX_SWITCH_2(name, a, b) PRLX_MARK_2_("switch", #name, a, b)
// Issue and completion of asynchronous work; `id` identifies it among work of that name.
#define PRLX_ISSUE(name, id) PRLX_MARK_1_("issue", #name, id)
#define PRLX_COMPLETE(name, id) PRLX_MARK_1_("complete", #name, id)
// An arrival at something that others wait for.
#define PRLX_ARRIVE(name, at) PRLX_MARK_1_("arrive", #name, at)
// The thread belongs to a group. In its warp, the thread with `leads` true records.
#define PRLX_GROUP(name, id) PRLX_MARK_1_("group", #name, id)
#define PRLX_LEADER(name, id, leads) PRLX_MARK_2_("group", #name, id, (leads) ? 1u : 0u)

#define PRLX_JOIN2_(a, b) a##b
#define PRLX_JOIN_(a, b) PRLX_JOIN2_(a, b)
// A region to the end of the scope.
#define PRLX_REGION(name)                                                                          \
    struct PRLX_JOIN_(prlx_region_, __LINE__) {                                                    \
        __device__ __forceinline__ PRLX_JOIN_(prlx_region_, __LINE__)() { PRLX_BEGIN(name); }      \
        __device__ __forceinline__ ~PRLX_JOIN_(prlx_region_, __LINE__)() { PRLX_END(name); }       \
    } PRLX_JOIN_(prlx_region_at_, __LINE__)

namespace prlx {

// A name for types: `struct load { PRLX_NAME(load) };`, so that `prlx::region<load>` and `prlx::profiler` can say it.
#define PRLX_NAME(name)                                                                            \
    static __device__ __forceinline__ void begin() { PRLX_BEGIN(name); }                           \
    static __device__ __forceinline__ void end() { PRLX_END(name); }                               \
    static __device__ __forceinline__ void instant() { PRLX_INSTANT(name); }

// A region from construction to destruction.
template <class Name> struct region {
    __device__ __forceinline__ region() { Name::begin(); }
    __device__ __forceinline__ ~region() { Name::end(); }
    region(const region &) = delete;
    region &operator=(const region &) = delete;
};

// The device API of TVM's CudaProfiler, over markers: no buffer, no stride, nothing to pass to the kernel.
//
//     prlx::profiler<> p(threadIdx.x == 0);
//     p.init(0);
//     p.start<load>();  ...  p.end<load>();
//     p.finalize();
//
// Every thread calls the methods; the leader of its group records. With `Enabled` false nothing is there at all.
template <bool Enabled = true> struct profiler {
    bool leader;
    __device__ __forceinline__ explicit profiler(bool leads) : leader(leads) {}
    // The thread joins a group.
    __device__ __forceinline__ void init(unsigned group) const {
        if constexpr (Enabled) {
            PRLX_LEADER(profiler, group, leader);
        }
    }
    template <class Event> __device__ __forceinline__ void start() const {
        if constexpr (Enabled) {
            Event::begin();
        }
    }
    template <class Event> __device__ __forceinline__ void end() const {
        if constexpr (Enabled) {
            Event::end();
        }
    }
    template <class Event> __device__ __forceinline__ void instant() const {
        if constexpr (Enabled) {
            Event::instant();
        }
    }
    // The thread is done: its track ends with it, so that there is nothing to do.
    __device__ __forceinline__ void finalize() const {}
};

} // namespace prlx
