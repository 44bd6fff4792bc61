// Grouped NVFP4 GEMM for sm_90a: C[g] = (A[g] * SFA[g]) @ (B[g] * SFB[g]).T, all groups in two launches.
//
// Theory of operation
//   Hopper has no FP4 tensor core, so both operands are decoded to float16, which is exact. The
//   tensor core computes the transpose of C: rows of B are its left operand and are decoded in
//   registers by the warps that multiply; rows of A are its right operand and come decoded from
//   shared memory. `decode_a` decodes A once and writes images of the tiles in shared memory, so that
//   `grouped_gemm` fills a slot of its ring by one contiguous copy. It starts while `decode_a` runs,
//   and has B on its way by the time A is there.
//
//   A block owns one multiprocessor: one warp loads B, one thread loads A, two warpgroups multiply,
//   64 rows of B each. What a block computes is a list of items made on the host: a tile of ROWS rows
//   of B by a width of A, and a range of its chunks of k. Where blocks share a tile, the one with the
//   last chunk finishes it and those before it leave float32 sums in device memory. A block does so
//   first of all, and waits only for blocks before it, which have started: nobody waits in a circle.
//
// Order of k
//   A chunk is 256 k. Lane j = lane % 4 of a row's quad owns the contiguous k = 64 j .. 64 j + 63 of
//   it: 32 bytes and one word of four scales, so all loads are wide and nothing is shuffled. Word i
//   (eight codes) of lane j feeds the products of steps 2 i and 2 i + 1:
//
//     position (2 i + t) * 16 + 8 u + 2 j + v holds k = 64 j + 8 i + code(t, u, v),
//     code = 3 + 4 v, 1 + 4 v (t = 0; u = 0, 1), 2 + 4 v, 4 v (t = 1; u = 0, 1).
//
//   A and B are permuted alike, so the sum is the same.
//
// `wgmma.cu` is generated: the product of every width N, and WIDTHS(F), which applies F to all of them.

#include "instructions.cu"
#include "wgmma.cu"

struct __align__(64) Group {
    TensorMap b;  // rows of k / 2 bytes; boxes of 128 bytes by ROWS rows
    const u8 *a, *sfa, *sfb;
    u16* c;
    u8* image;       // decoded A
    int m, n, k;
    int tile_rows;   // of A, a multiple of 16
    int width;       // of the products, at least tile_rows
    int first_unit;  // of 16 rows of A, counted over all groups
};

struct Item {
    u16 group, row_tile, column_tile;
    u16 first_chunk, last_chunk;  // last exclusive; a later block finishes a tile that ends early
    u16 sharers;                  // blocks before this one that leave sums of the tile
};

constexpr int GROUPS = 16;   // that fit parameters of 4 KB; more are in device memory
constexpr int BLOCKS = 160;  // at least the multiprocessors of any sm_90
struct Groups {
    Group groups[GROUPS];
    const Group* more_groups;
    __device__ __forceinline__ const Group* all() const { return more_groups ? more_groups : groups; }
};
struct Problem {
    Groups groups;
    int first_items[BLOCKS + 1];
    const Item* items;
};

constexpr int WARPGROUPS = 2, ROWS = 64 * WARPGROUPS;  // of B in a tile
constexpr int WIDEST = 256;
constexpr int CONSUMERS = 128 * WARPGROUPS, THREADS = CONSUMERS + 128;
constexpr int CONSUMER_REGISTERS = 232, LOADER_REGISTERS = 40;  // of 168 at launch
constexpr int CHUNK = 256;                              // k of a stage of B
constexpr int STAGES = 4, SLOTS = 4;                    // of the rings of B and of A
constexpr int B_SCALES = ROWS * 128, STAGE_BYTES = B_SCALES + ROWS * 16;
constexpr int SLOT_BYTES = WIDEST * 128;
constexpr int RING = SLOTS * SLOT_BYTES;                // stages follow the slots
constexpr int STAGING = RING + STAGES * STAGE_BYTES;    // two times 32 rows of C a warpgroup
constexpr int STAGING_BYTES = 2 * 32 * 128;
constexpr int BARRIERS = STAGING + WARPGROUPS * STAGING_BYTES;
constexpr int SHARED_BYTES = BARRIERS + 2 * (STAGES + SLOTS) * 8;
static_assert(SHARED_BYTES <= 232448, "the most a block can have");
constexpr int SUM_FLOATS = ROWS * WIDEST;               // of one block's unfinished tile

//------------------------------------------------------------------------- decoding

// Two block scales, times 2^7.
__device__ __forceinline__ u32 decode_scales(u32 bytes) {
    return multiply_halves(widen_e4m3(bytes), 0x58005800);
}

// Eight codes times their scale. Sign and magnitude of a code placed in bits 15 and 11..9 of a half
// are its value times 2^-14, so `out` is value * scale * 2^-7: pairs for (t, u) = (0, 0), (0, 1),
// (1, 0), (1, 1).
__device__ __forceinline__ void decode(u32 word, u32 scale, u32 (&out)[4]) {
    constexpr u32 CODES = 0x8E008E00;
    const u32 high = take_signs(word, word >> 3), low = take_signs(word << 4, word << 1);
    out[0] = multiply_halves(high & CODES, scale);
    out[1] = multiply_halves((high << 8) & CODES, scale);
    out[2] = multiply_halves(low & CODES, scale);
    out[3] = multiply_halves((low << 8) & CODES, scale);
}
constexpr float SCALE_BACK = 16384.f;  // A and B carry 2^-7 each

// A word of a row and one of the row eight below: the left operands of two steps.
__device__ __forceinline__ void decode_rows(
    u32 upper, u32 lower, u32 upper_scale, u32 lower_scale, u32* left) {
    u32 up[4], low[4];
    decode(upper, upper_scale, up);
    decode(lower, lower_scale, low);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        left[2 * i] = up[i];
        left[2 * i + 1] = low[i];
    }
}

//------------------------------------------------------------------------- items and rings

struct Tile {
    Item item;
    const Group* group;
    int row, rows, column;
};

// Goes through the items of this block.
class Walk {
  public:
    __device__ __forceinline__ explicit Walk(const Problem& problem)
        : problem_(problem), at_(problem.first_items[blockIdx.x]) {}
    __device__ __forceinline__ bool more() const {
        return at_ < problem_.first_items[blockIdx.x + 1];
    }
    __device__ __forceinline__ void advance() { ++at_; }
    __device__ __forceinline__ Tile tile() const {
        Tile tile;
        tile.item = problem_.items[at_];
        tile.group = problem_.groups.all() + tile.item.group;
        tile.row = tile.item.row_tile * tile.group->tile_rows;
        tile.rows = min(tile.group->tile_rows, tile.group->m - tile.row);
        tile.column = tile.item.column_tile * ROWS;
        return tile;
    }
    // Makes the compiler read the item anew instead of keeping what it says in registers.
    __device__ __forceinline__ void forget() { asm volatile("" : "+r"(at_)); }

  private:
    const Problem& problem_;
    int at_;
};

__device__ __forceinline__ int chunks_of(const Group& group) {
    return (group.k + CHUNK - 1) / CHUNK;
}
__device__ __forceinline__ int scale_tiles_of(const Group& group) { return (group.k + 63) / 64; }

// A slot holds so many blocks of 64 k of [tile_rows][128 bytes]. Products read `width` rows of each:
// what they make of those past tile_rows, whatever is there, is not stored.
__host__ __device__ constexpr int blocks_of_slot(int width) {
    return width <= WIDEST / 4 ? 4 : width <= WIDEST / 2 ? 2 : 1;
}

struct Turn {  // a place in a ring and the parity of the round
    u32 at = 0, parity = 0;
    template <int COUNT>
    __device__ __forceinline__ void advance() {
        if (++at == COUNT) {
            at = 0;
            parity ^= 1;
        }
    }
};

struct Rings {
    u32 shared;
    __device__ __forceinline__ u32 slot(u32 i) const { return shared + i * SLOT_BYTES; }
    __device__ __forceinline__ u32 stage(u32 i) const { return shared + RING + i * STAGE_BYTES; }
    __device__ __forceinline__ u32 stage_full(u32 i) const { return shared + BARRIERS + i * 8; }
    __device__ __forceinline__ u32 stage_empty(u32 i) const { return stage_full(STAGES + i); }
    __device__ __forceinline__ u32 slot_full(u32 i) const { return stage_full(2 * STAGES + i); }
    __device__ __forceinline__ u32 slot_empty(u32 i) const {
        return stage_full(2 * STAGES + SLOTS + i);
    }
};

//------------------------------------------------------------------------- decoding A

// Images: of a tile of rows, blocks of 64 k of [tile_rows][128 bytes], 16-byte pieces XORed with
// row % 8; zeros past m and past k. A block decodes 16 rows of a chunk, eight lanes share a row.
// Through shared memory, padded against conflicts, so that four rows go out as 512 contiguous bytes.
constexpr int DECODE_THREADS = 128;
constexpr int DECODE_BLOCK_BYTES = 144, DECODE_ROW_BYTES = 4 * DECODE_BLOCK_BYTES;
constexpr int DECODE_SHARED_BYTES = DECODE_THREADS / 8 * DECODE_ROW_BYTES;

__device__ __forceinline__ const Group* group_of_unit(const Groups& table, int groups, int unit) {
    const Group* group = table.all();
    for (int left = groups; left > 1;) {
        const int half = left / 2;
        const bool later = group[half].first_unit <= unit;
        group += later ? half : 0;
        left = later ? left - half : half;
    }
    return group;
}

extern "C" __global__ void __launch_bounds__(DECODE_THREADS)
decode_a(const __grid_constant__ Groups table, int groups) {
    extern __shared__ __align__(1024) u8 memory[];
    let_next_kernel_start();
    const Group* group = group_of_unit(table, groups, blockIdx.x);
    const int chunk = blockIdx.y, chunks = chunks_of(*group), scale_tiles = scale_tiles_of(*group);
    if (chunk >= chunks) return;
    const int first_row = (blockIdx.x - group->first_unit) * 16, pitch = group->k / 2;
    const int i = threadIdx.x % 8, row = first_row + threadIdx.x / 8;
    const bool in_group = row < group->m;
    const u8* codes = group->a + (long long)row * pitch + i * 4;
    const u8* scale_bytes = group->sfa + (long long)(row / 128) * scale_tiles * 512
                            + row % 32 * 16 + row % 128 / 32 * 4 + i / 2;
    u32 words[4], scales[4], pieces[4][4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        const int byte = chunk * 128 + j * 32, column = chunk * 4 + j;
        words[j] = in_group && byte + i * 4 < pitch ? __ldg((const u32*)(codes + byte)) : 0;
        scales[j] = in_group && column < scale_tiles ? __ldg(scale_bytes + column * 512) : 0;
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        u32 out[4];
        decode(words[j], decode_scales(scales[j] * 0x101), out);
#pragma unroll
        for (int tu = 0; tu < 4; ++tu) pieces[tu][j] = out[tu];
    }
    const int tile_rows = group->tile_rows, tile = first_row / tile_rows;
    const int tile_row = row - tile * tile_rows, block_bytes = tile_rows * 128;
    const u32 staging = shared_offset(memory) + threadIdx.x / 8 * DECODE_ROW_BYTES;
#pragma unroll
    for (int tu = 0; tu < 4; ++tu)
        store16(staging + i / 2 * DECODE_BLOCK_BYTES + (((i % 2 * 4 + tu) ^ tile_row % 8) << 4),
                make_uint4(pieces[tu][0], pieces[tu][1], pieces[tu][2], pieces[tu][3]));
    __syncwarp();
    u8* to = group->image + ((long long)tile * chunks + chunk) * 4 * block_bytes
             + tile_row * 128 + i * 16;
#pragma unroll
    for (int block = 0; block < 4; ++block)
        *(uint4*)(to + block * block_bytes) = load16(staging + block * DECODE_BLOCK_BYTES + i * 16);
}

//------------------------------------------------------------------------- loading

// One warp loads B and its scales; neither depends on the kernel before this one. The first chunk comes
// alone: what all blocks ask for at once comes at the rate of device memory, and none could begin.
__device__ __forceinline__ void load_b(const Rings& rings, Walk walk) {
    const int lane = threadIdx.x % 32;
    bool first = true;
    Turn turn;
    for (; walk.more(); walk.advance()) {
        const Tile tile = walk.tile();
        const int scale_tiles = scale_tiles_of(*tile.group);
        const u8* from = tile.group->sfb + (long long)tile.item.column_tile * scale_tiles * 512;
        for (int chunk = tile.item.first_chunk; chunk < tile.item.last_chunk; ++chunk) {
            const u32 to = rings.stage(turn.at), full = rings.stage_full(turn.at);
            barrier_wait(rings.stage_empty(turn.at), turn.parity ^ 1);
            const int scale_bytes = min(4, scale_tiles - chunk * 4) * 512;
            // Codes past k come as zeros, but zero times a NaN that was left here is not zero.
            if (scale_bytes < 2048) {
                for (int byte = scale_bytes + lane * 16; byte < 2048; byte += 512)
                    store_zeros16(to + B_SCALES + byte);
                order_stores_before_copies();
            }
            __syncwarp();
            if (lane == 0) {
                barrier_expect(full, ROWS * 128 + scale_bytes);
                copy_box(to, &tile.group->b, chunk * 128, tile.column, full);
                copy_bytes(to + B_SCALES, from + chunk * 2048, scale_bytes, full);
            }
            if (first) barrier_wait(full, 0);
            first = false;
            turn.advance<STAGES>();
        }
    }
}

// One thread loads decoded A.
__device__ __forceinline__ void load_a(const Rings& rings, Walk walk) {
    wait_for_kernel_before();
    Turn turn;
    for (; walk.more(); walk.advance()) {
        const Tile tile = walk.tile();
        const int blocks = blocks_of_slot(tile.group->width);
        const int bytes = tile.group->tile_rows * 128 * blocks;
        const int first = tile.item.row_tile * chunks_of(*tile.group) + tile.item.first_chunk;
        const u8* from = tile.group->image + (long long)first * 512 * tile.group->tile_rows;
        int slots = (tile.item.last_chunk - tile.item.first_chunk) * 4 / blocks;
        for (; slots > 0; --slots, from += bytes) {
            barrier_wait(rings.slot_empty(turn.at), turn.parity ^ 1);
            barrier_expect(rings.slot_full(turn.at), bytes);
            copy_bytes(rings.slot(turn.at), from, bytes, rings.slot_full(turn.at));
            turn.advance<SLOTS>();
        }
    }
}

//------------------------------------------------------------------------- multiplying

struct Consumer {
    Rings rings;
    Turn stage, slot;
    u32 codes, scales;  // where this thread's part of a stage is
    bool leads;         // the warpgroup
};

// Rows of 128 bytes, swizzled; eight of them are 1024 bytes.
__device__ __forceinline__ u64 describe(u32 block) {
    return (u64)1 << 62 | (u64)64 << 32 | (u64)1 << 16 | (block & 0x3FFFF) >> 4;
}

// A unit is 32 k: it is decoded while the unit before it is multiplied. To decode before the wait, or
// to have more widths in one kernel than sum to about 670, makes ptxas run all products one by one.
template <int N>
__device__ __forceinline__ void multiply(
    Consumer& me, int chunks, int block_bytes, float (&sums)[N / 2]) {
    constexpr int BLOCKS_OF_SLOT = blocks_of_slot(N);
    u32 left[2][8];
    for (int chunk = 0; chunk < chunks; ++chunk) {
        barrier_wait(me.rings.stage_full(me.stage.at), me.stage.parity);
        const u32 stage = me.rings.stage(me.stage.at);
        const u32 upper_scales = load4(stage + me.scales);
        const u32 lower_scales = load4(stage + me.scales + 128);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const uint4 upper = load16(stage + (me.codes ^ half * 16));
            const uint4 lower = load16(stage + (me.codes ^ half * 16) + 1024);
            const u32 upper_pair = decode_scales(upper_scales >> half * 16 & 0xFFFF);
            const u32 lower_pair = decode_scales(lower_scales >> half * 16 & 0xFFFF);
            if (half == 1) {
                __syncwarp();
                if (threadIdx.x % 32 == 0) barrier_arrive(me.rings.stage_empty(me.stage.at));
            }
#pragma unroll
            for (int block = 0; block < 2; ++block) {
                const int part = (half * 2 + block) % BLOCKS_OF_SLOT;
                if (part == 0) barrier_wait(me.rings.slot_full(me.slot.at), me.slot.parity);
                const u64 right = describe(me.rings.slot(me.slot.at) + part * block_bytes);
                const u32 upper_scale = __byte_perm(upper_pair, 0, block ? 0x3232 : 0x1010);
                const u32 lower_scale = __byte_perm(lower_pair, 0, block ? 0x3232 : 0x1010);
#pragma unroll
                for (int unit = 0; unit < 2; ++unit) {
                    wgmma_wait<1>();
                    // Two units into a slot nobody reads the slot before it.
                    if (part == 0 && unit == 1 && me.leads && (half || block || chunk))
                        barrier_arrive(me.rings.slot_empty((me.slot.at + SLOTS - 1) % SLOTS));
                    decode_rows(
                        block ? (unit ? upper.w : upper.z) : (unit ? upper.y : upper.x),
                        block ? (unit ? lower.w : lower.z) : (unit ? lower.y : lower.x),
                        upper_scale, lower_scale, left[unit]);
                    wgmma_fence();
                    wgmma<N>(sums, left[unit], right + unit * 4);
                    wgmma<N>(sums, left[unit] + 4, right + unit * 4 + 2);
                    wgmma_commit();
                }
                if (part == BLOCKS_OF_SLOT - 1) me.slot.advance<SLOTS>();
            }
        }
        me.stage.advance<STAGES>();
    }
    wgmma_wait<0>();
    if (me.leads) barrier_arrive(me.rings.slot_empty((me.slot.at + SLOTS - 1) % SLOTS));
}

// Sums of an unfinished tile: the block's part of `partials` and a flag of each warpgroup.
struct Shares {
    float* partials;
    u32* flags;
    __device__ __forceinline__ u32* flag(int block) const {
        return flags + block * WARPGROUPS + threadIdx.x / 128;
    }
    __device__ __forceinline__ float4* sums(int block) const {
        return (float4*)(partials + (long long)block * SUM_FLOATS)
               + threadIdx.x / 128 * (WIDEST * 16) + threadIdx.x % 128;
    }
};

template <int N>
__device__ __forceinline__ void leave(const float (&sums)[N / 2], const Shares& shares, bool leads) {
    float4* to = shares.sums(blockIdx.x);
#pragma unroll
    for (int i = 0; i < N / 2; i += 4)
        __stcg(to + i * 32, make_float4(sums[i], sums[i + 1], sums[i + 2], sums[i + 3]));
    __threadfence();
    sync_threads(1 + threadIdx.x / 128, 128);
    if (leads) raise_flag(shares.flag(blockIdx.x));
}

template <int N>
__device__ __forceinline__ void collect(
    float (&sums)[N / 2], const Shares& shares, int block, bool leads) {
    if (leads) {
        await_flag(shares.flag(block));
        *shares.flag(block) = 0;  // for the next launch
    }
    sync_threads(1 + threadIdx.x / 128, 128);
    const float4* from = shares.sums(block);
#pragma unroll
    for (int i = 0; i < N / 2; i += 4) {
        const float4 more = __ldcg(from + i * 32);
        sums[i] += more.x;
        sums[i + 1] += more.y;
        sums[i + 2] += more.z;
        sums[i + 3] += more.w;
    }
}

// Rounds and writes. A warpgroup has 64 columns of C, a warp 16 of them; 32 rows at a time pass through
// one of two buffers, so that whole lines of 128 bytes are written. This is much code, a copy for every
// width, and where it comes from device memory its bytes count: what is rare is a loop.
template <int N>
__device__ __forceinline__ void write(const float (&sums)[N / 2], const Tile& tile, u32 staging) {
    const int thread = threadIdx.x % 128, lane = thread % 32, n = tile.group->n;
    const int column = tile.column + threadIdx.x / 128 * 64 + thread % 8 * 8, row = thread / 8;
    const int columns = min(8, n - column);
    u16* c = tile.group->c + (long long)(tile.row + row) * n + column;
    const bool whole = n % 8 == 0 && (u64)tile.group->c % 16 == 0;
    const int rows_whole = whole && columns > 0 ? tile.rows : 0, rows_apart = whole ? 0 : tile.rows;
    const u32 put_row = lane / 16 * 8 + lane % 8, put_piece = thread / 32 * 2 + lane / 8 % 2;
    const u32 put = staging + put_row * 128 + ((put_piece ^ put_row % 8) << 4);
    const u32 get = staging + row * 128 + ((thread % 8 ^ row % 8) << 4);
#pragma unroll
    for (int first = 0; first < N / 16; first += 2) {
        const u32 buffer = first / 2 % 2 * 4096;
#pragma unroll
        for (int block = first; block < min(first + 2, N / 16); ++block) {
            u32 halves[4];
#pragma unroll
            for (int i = 0; i < 4; ++i)
                halves[i] = round_to_halves(sums[block * 8 + i * 2] * SCALE_BACK,
                                            sums[block * 8 + i * 2 + 1] * SCALE_BACK);
            store_matrices(put + buffer + block % 2 * 2048, halves);
        }
        // Who writes to a buffer again has met those who read it at the other buffer.
        sync_threads(1 + threadIdx.x / 128, 128);
#pragma unroll
        for (int block = first; block < min(first + 2, N / 16); ++block) {
            const u32 from = get + buffer + block % 2 * 2048;
            u16* at = c + (long long)block * 16 * n;
            if (block * 16 + row < rows_whole) *(uint4*)at = load16(from);
            if (block * 16 + row < rows_apart)
#pragma unroll 1
                for (int i = 0; i < columns; ++i) at[i] = load2(from + i * 2);
        }
    }
}

template <int N>
__device__ __forceinline__ void compute(
    Consumer& me, Walk& walk, int chunks, int block_bytes, const Shares& shares) {
    float sums[N / 2];
#pragma unroll
    for (int i = 0; i < N / 2; ++i) sums[i] = 0.f;
    multiply<N>(me, chunks, block_bytes, sums);
    walk.forget();
    const Tile tile = walk.tile();
    if (tile.item.last_chunk < chunks_of(*tile.group)) {
        leave<N>(sums, shares, me.leads);
        return;
    }
    for (int i = tile.item.sharers; i > 0; --i) collect<N>(sums, shares, blockIdx.x - i, me.leads);
    write<N>(sums, tile, me.rings.shared + STAGING + threadIdx.x / 128 * STAGING_BYTES);
}

__device__ __forceinline__ void consume(const Rings& rings, const Problem& problem, const Shares& shares) {
    const int lane = threadIdx.x % 32, j = lane % 4, row = threadIdx.x / 32 * 16 + lane / 4;
    Consumer me{rings, {}, {}, 0, 0, threadIdx.x % 128 == 0};
    me.codes = row * 128 + ((j * 2 ^ row % 8) << 4);
    me.scales = B_SCALES + j * 512 + row % 32 * 16 + row / 32 * 4;
    for (Walk walk(problem); walk.more(); walk.advance()) {
        const Tile tile = walk.tile();
        const int chunks = tile.item.last_chunk - tile.item.first_chunk;
        const int block_bytes = tile.group->tile_rows * 128;
        switch (tile.group->width) {
#define COMPUTE(N) \
    case N: compute<N>(me, walk, chunks, block_bytes, shares); break;
            WIDTHS(COMPUTE)
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
grouped_gemm(const __grid_constant__ Problem problem, float* partials, u32* flags) {
    extern __shared__ __align__(1024) u8 memory[];
    const Rings rings{shared_offset(memory)};
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            barrier_init(rings.stage_full(i), 1);
            barrier_init(rings.stage_empty(i), CONSUMERS / 32);
        }
        for (int i = 0; i < SLOTS; ++i) {
            barrier_init(rings.slot_full(i), 1);
            barrier_init(rings.slot_empty(i), WARPGROUPS);
        }
        barrier_init_done();
    }
    __syncthreads();
    if (threadIdx.x < CONSUMERS) {
        take_registers<CONSUMER_REGISTERS>();
        consume(rings, problem, Shares{partials, flags});
    } else {
        give_registers_back<LOADER_REGISTERS>();
        if (threadIdx.x / 32 == CONSUMERS / 32) load_b(rings, Walk(problem));
        if (threadIdx.x == CONSUMERS + 32) load_a(rings, Walk(problem));
    }
}
