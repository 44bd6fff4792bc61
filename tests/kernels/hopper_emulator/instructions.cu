// The functions of kernels/hopper/instructions.cu for a CPU: one fiber a thread, one block at a time.
//
// What is asynchronous on the device happens as late as it may, so that a missing wait shows: a copy
// spoils its destination at once and lands some turns later; a product reads registers and shared
// memory only when a thread waits for it. Fibers run in random order. Where nobody can go on, the
// run ends with a message instead of hanging.

#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#define __device__
#define __host__
#define __global__
#define __shared__
#define __grid_constant__
#define __forceinline__
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

struct uint4 { u32 x, y, z, w; };
struct float4 { float x, y, z, w; };
struct dim3 { u32 x = 0, y = 0, z = 0; };

// On the device an opaque description; here: address, bytes of a row, rows, rows of a box.
struct __align__(64) TensorMap { u64 words[16]; };

constexpr u32 SHARED_START = 1024, SHARED_MOST = 232448;
__align__(1024) u8 memory[SHARED_MOST];

//------------------------------------------------------------------------- fibers

struct Fiber {
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    dim3 thread;
    bool done = false;
    size_t products = 0;            // issued
    std::vector<size_t> committed;  // products in all groups up to each
};

struct Rendezvous { int arrived = 0; u64 generation = 0; };
struct Barrier { int expected = 0, pending = 0; long bytes = 0; u64 phase = 0; };
struct Copy { u32 to; std::vector<u8> content; u32 bar; int turns; };
struct Product {
    int width;
    u64 right;
    int arrived = 0;
    bool executed = false;
    float* sums[128];
    const u32* left[128];
};

struct Machine {
    std::vector<std::unique_ptr<Fiber>> fibers;
    Fiber* current = nullptr;
    ucontext_t scheduler;
    std::mt19937 random;
    u64 progress = 0;
    std::map<int, Rendezvous> named, warps, warpgroups;
    std::map<u32, Barrier> barriers;
    std::vector<Copy> copies;
    std::map<int, std::vector<Product>> products;  // of a warpgroup
    std::map<int, u32> exchange[2];                // of lanes, by round
    std::map<int, u64> rounds;
    std::string fault;
} machine;

dim3 blockIdx;
#define threadIdx (machine.current->thread)

inline void give_way() { swapcontext(&machine.current->context, &machine.scheduler); }
inline void fail(const std::string& what) {
    if (machine.fault.empty())
        machine.fault = "block " + std::to_string(blockIdx.x) + ", thread "
                        + std::to_string(threadIdx.x) + ": " + what;
    for (;;) give_way();
}
template <class Condition>
void wait_until(Condition condition) {
    while (!condition()) give_way();
    ++machine.progress;
}
inline void meet(Rendezvous& rendezvous, int threads) {
    const u64 generation = rendezvous.generation;
    ++machine.progress;
    if (++rendezvous.arrived == threads) {
        rendezvous.arrived = 0;
        ++rendezvous.generation;
    } else {
        wait_until([&] { return rendezvous.generation != generation; });
    }
    give_way();
}

//------------------------------------------------------------------------- CUDA's own functions

inline int min(int a, int b) { return a < b ? a : b; }
inline void __syncthreads() { meet(machine.named[0], (int)machine.fibers.size()); }
inline void __syncwarp() { meet(machine.warps[threadIdx.x / 32], 32); }
inline void __threadfence() {}
inline u32 __byte_perm(u32 a, u32 b, u32 selector) {
    const u64 both = (u64)b << 32 | a;
    u32 r = 0;
    for (int i = 0; i < 4; ++i) r |= (u32)(both >> (selector >> 4 * i & 7) * 8 & 0xFF) << 8 * i;
    return r;
}
inline u32 __shfl_xor_sync(u32, u32 value, int mask) {
    const int thread = threadIdx.x, round = machine.rounds[thread]++ % 2;
    machine.exchange[round][thread] = value;
    __syncwarp();
    return machine.exchange[round][thread ^ mask];
}
template <class T> T __ldg(const T* from) { return *from; }
inline float4 __ldcg(const float4* from) { return *from; }
inline void __stcg(float4* to, float4 value) { *to = value; }
inline uint4 make_uint4(u32 x, u32 y, u32 z, u32 w) { return {x, y, z, w}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

//------------------------------------------------------------------------- barriers and order

inline u32 shared_offset(const void*) { return SHARED_START; }
inline u8* shared_at(u32 offset, u32 bytes) {
    if (offset < SHARED_START || offset + bytes > SHARED_START + SHARED_MOST || offset % bytes)
        fail("shared memory at " + std::to_string(offset));
    return memory + (offset - SHARED_START);
}
inline void settle(Barrier& barrier) {
    ++machine.progress;
    if (barrier.pending == 0 && barrier.bytes == 0) {
        ++barrier.phase;
        barrier.pending = barrier.expected;
    }
}
inline void barrier_init(u32 bar, int arrivals) {
    machine.barriers[bar] = Barrier{arrivals, arrivals, 0, 0};
}
inline void barrier_init_done() {}
inline void barrier_expect(u32 bar, int bytes) {
    Barrier& barrier = machine.barriers.at(bar);
    if (barrier.pending == 0) fail("one arrival too many");
    barrier.bytes += bytes;
    --barrier.pending;
    settle(barrier);
}
inline void barrier_arrive(u32 bar) {
    barrier_expect(bar, 0);
    give_way();  // to those who waited for it
}
inline void barrier_wait(u32 bar, u32 parity) {
    Barrier& barrier = machine.barriers.at(bar);
    wait_until([&] { return (barrier.phase & 1) != parity; });
}
inline void sync_threads(int name, int threads) { meet(machine.named[name], threads); }
inline void order_stores_before_copies() {}
inline void let_next_kernel_start() {}
inline void wait_for_kernel_before() {}
template <int COUNT> void give_registers_back() {}
template <int COUNT> void take_registers() {}
inline void raise_flag(u32* flag) { *flag = 1; }
inline void await_flag(const u32* flag) {
    if (!*flag) fail("waits for a block that has not left its sums");
}

//------------------------------------------------------------------------- copies

inline void start_copy(u32 to, std::vector<u8> content, u32 bar) {
    for (u32 i = 0; i < content.size(); i += 16) memset(shared_at(to + i, 16), 0x7F, 16);
    machine.copies.push_back({to, std::move(content), bar, 1 + (int)(machine.random() % 8)});
    ++machine.progress;
}
inline void land_copies() {
    for (size_t i = 0; i < machine.copies.size();) {
        Copy& copy = machine.copies[i];
        if (--copy.turns > 0) { ++i; continue; }
        memcpy(memory + (copy.to - SHARED_START), copy.content.data(), copy.content.size());
        Barrier& barrier = machine.barriers.at(copy.bar);
        barrier.bytes -= (long)copy.content.size();
        settle(barrier);
        machine.copies.erase(machine.copies.begin() + i);
    }
}
inline void copy_bytes(u32 to, const u8* from, int bytes, u32 bar) {
    if (bytes % 16 || to % 16 || (uintptr_t)from % 16) fail("a copy that is not of 16-byte pieces");
    start_copy(to, std::vector<u8>(from, from + bytes), bar);
}
inline void copy_box(u32 to, const TensorMap* map, int byte, int row, u32 bar) {
    const u8* base = (const u8*)map->words[0];
    const long pitch = map->words[1], rows = map->words[2], box_rows = map->words[3];
    if (pitch % 16 || (uintptr_t)base % 16 || to % 1024) fail("a tensor map that is not aligned");
    std::vector<u8> box(box_rows * 128, 0);
    for (long r = 0; r < box_rows; ++r)
        for (long b = 0; b < 128; ++b)
            if (row + r < rows && byte + b < pitch)
                box[r * 128 + (b ^ (r % 8) << 4)] = base[(row + r) * pitch + byte + b];
    start_copy(to, std::move(box), bar);
}
inline uint4 load16(u32 from) { return *(const uint4*)shared_at(from, 16); }
inline u32 load4(u32 from) { return *(const u32*)shared_at(from, 4); }
inline u16 load2(u32 from) { return *(const u16*)shared_at(from, 2); }
inline void store16(u32 to, uint4 v) { *(uint4*)shared_at(to, 16) = v; }
inline void store_zeros16(u32 to) { memset(shared_at(to, 16), 0, 16); }
inline void store_matrices(u32 to, const u32 (&halves)[4]) {
    // Every lane tells its address and its halves; then each writes the columns that it holds.
    static std::map<int, u32> rows;
    const int thread = threadIdx.x, lane = thread % 32;
    rows[thread] = to;
    __syncwarp();
    for (int matrix = 0; matrix < 4; ++matrix)
        for (int v = 0; v < 2; ++v) {
            const u32 at = rows[thread - lane + matrix * 8 + lane % 4 * 2 + v];
            ((u16*)shared_at(at, 16))[lane / 4] = (u16)(halves[matrix] >> 16 * v);
        }
    __syncwarp();
}

//------------------------------------------------------------------------- arithmetic

inline _Float16 half_of(u32 bits) {
    const u16 half = (u16)bits;
    _Float16 r;
    memcpy(&r, &half, 2);
    return r;
}
inline u32 bits_of(_Float16 value) {
    u16 half;
    memcpy(&half, &value, 2);
    return half;
}
inline u32 multiply_halves(u32 a, u32 b) {
    return bits_of(half_of(a) * half_of(b)) | bits_of(half_of(a >> 16) * half_of(b >> 16)) << 16;
}
inline u32 widen_e4m3(u32 bytes) {
    u32 r = 0;
    for (int i = 0; i < 2; ++i) {
        const u32 byte = bytes >> 8 * i & 0xFF, exponent = byte >> 3 & 15, mantissa = byte & 7;
        float value = exponent ? std::ldexp(8.f + mantissa, (int)exponent - 10)
                               : std::ldexp((float)mantissa, -9);
        if ((byte & 0x7F) == 0x7F) value = NAN;
        r |= bits_of((_Float16)(byte & 0x80 ? -value : value)) << 16 * i;
    }
    return r;
}
inline u32 round_to_halves(float low, float high) {
    return bits_of((_Float16)low) | bits_of((_Float16)high) << 16;
}
inline u32 take_signs(u32 signs, u32 rest) {
    return (signs & 0x80808080) | (rest & ~0x80808080);
}
inline void wgmma_fence() { meet(machine.warpgroups[threadIdx.x / 128], 128); }
inline void wgmma_commit() { machine.current->committed.push_back(machine.current->products); }

inline void execute(Product& product) {
    const u32 start = (u32)(product.right & 0x3FFF) << 4;
    if (product.right >> 62 != 1 || (product.right >> 32 & 0x3FFF) != 64) fail("a wrong descriptor");
    std::vector<float> right(16 * product.width);  // [column][k]
    for (int column = 0; column < product.width; ++column)
        for (int k = 0; k < 16; ++k) {
            const u32 at = start + column * 128 + k * 2;
            right[column * 16 + k] = (float)half_of(*(u16*)shared_at(at ^ (at >> 7 & 7) << 4, 2));
        }
    for (int thread = 0; thread < 128; ++thread) {
        const int quad = thread / 4 * 4;
        for (int low = 0; low < 2; ++low) {
            float left[16];
            for (int k = 0; k < 16; ++k)
                left[k] = (float)half_of(
                    product.left[quad + k % 8 / 2][k / 8 * 2 + low] >> 16 * (k % 2));
            for (int i = 0; i < product.width / 8; ++i)
                for (int v = 0; v < 2; ++v) {
                    const float* column = &right[(i * 8 + thread % 4 * 2 + v) * 16];
                    double sum = product.sums[thread][i * 4 + low * 2 + v];
                    for (int k = 0; k < 16; ++k) sum += (double)left[k] * column[k];
                    product.sums[thread][i * 4 + low * 2 + v] = (float)sum;
                }
        }
    }
    product.executed = true;
}
template <int GROUPS_LEFT>
void wgmma_wait() {
    const auto& committed = machine.current->committed;
    if ((int)committed.size() <= GROUPS_LEFT) return;
    const size_t count = committed[committed.size() - 1 - GROUPS_LEFT];
    std::vector<Product>& products = machine.products[threadIdx.x / 128];
    wait_until([&] { return count == 0 || products[count - 1].arrived == 128; });
    for (size_t i = 0; i < count; ++i)
        if (!products[i].executed) execute(products[i]);
}
template <int N>
void wgmma(float (&sums)[N / 2], const u32* left, u64 right) {
    std::vector<Product>& products = machine.products[threadIdx.x / 128];
    const size_t index = machine.current->products++;
    if (index == products.size()) products.push_back(Product{N, right});
    Product& product = products[index];
    if (product.width != N || product.right != right) fail("threads disagree on a product");
    product.sums[threadIdx.x % 128] = sums;
    product.left[threadIdx.x % 128] = left;
    ++product.arrived;
    ++machine.progress;
}

//------------------------------------------------------------------------- running a block

inline std::function<void()>* body_of_block = nullptr;
inline void enter() {
    (*body_of_block)();
    machine.current->done = true;
    ++machine.progress;
    give_way();
}

// Runs one block; returns false where it failed, with the reason in `machine.fault`.
inline bool run_block(dim3 block, int threads, std::function<void()> body) {
    blockIdx = block;
    body_of_block = &body;
    machine.named.clear(), machine.warps.clear(), machine.warpgroups.clear();
    machine.barriers.clear(), machine.copies.clear();
    machine.products.clear(), machine.rounds.clear(), machine.fibers.clear();
    memset(memory, 0x7F, sizeof memory);
    constexpr size_t STACK_BYTES = 256 << 10;
    for (int i = 0; i < threads; ++i) {
        auto fiber = std::make_unique<Fiber>();
        fiber->thread.x = i;
        fiber->stack.reset(new char[STACK_BYTES]);
        getcontext(&fiber->context);
        fiber->context.uc_stack = {fiber->stack.get(), 0, STACK_BYTES};
        makecontext(&fiber->context, enter, 0);
        machine.fibers.push_back(std::move(fiber));
    }
    std::vector<int> order(threads);
    std::iota(order.begin(), order.end(), 0);
    for (int left = threads, idle = 0; left;) {
        const u64 before = machine.progress;
        land_copies();
        std::shuffle(order.begin(), order.end(), machine.random);
        const u32 resting = machine.random() & machine.random();  // warps, so that some are ahead
        for (int i : order) {
            Fiber* fiber = machine.fibers[i].get();
            if (fiber->done || resting >> i / 32 & 1) continue;
            machine.current = fiber;
            swapcontext(&machine.scheduler, &fiber->context);
            left -= fiber->done;
            if (!machine.fault.empty()) return false;
        }
        idle = machine.progress == before && machine.copies.empty() ? idle + 1 : 0;
        if (idle > 40) {
            machine.fault = "block " + std::to_string(block.x) + ": nobody can go on";
            return false;
        }
    }
    for (auto& [bar, barrier] : machine.barriers)
        if (barrier.bytes) machine.fault = "bytes that nobody waited for";
    return machine.fault.empty();
}
