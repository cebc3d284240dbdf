#pragma once
// SHA-256 of two messages in parallel. Each SHA instruction waits for the one before it, so two
// messages at once take not much longer than one.
#include "sha256.h"
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

static inline int ferry_sha256_has_instructions(void) {
    unsigned int a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSSE3) || !(c & bit_SSE4_1)) return 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & (1u << 29));
}

// The instructions expect the eight words of the state as (f e b a) and (h g d c), lowest first.
struct ferry_sha256_registers {
    __m128i feba, hgdc;
};

__attribute__((target("sha,sse4.1"))) static inline struct ferry_sha256_registers ferry_sha256_load(const uint32_t h[8]) {
    struct ferry_sha256_registers state = {
        _mm_set_epi32((int)h[0], (int)h[1], (int)h[4], (int)h[5]),
        _mm_set_epi32((int)h[2], (int)h[3], (int)h[6], (int)h[7]),
    };
    return state;
}

__attribute__((target("sha,sse4.1"))) static inline void ferry_sha256_store(
    struct ferry_sha256_registers state, uint32_t h[8]) {
    uint32_t words[8];
    _mm_storeu_si128((__m128i *)words, state.feba);
    _mm_storeu_si128((__m128i *)(words + 4), state.hgdc);
    h[0] = words[3], h[1] = words[2], h[4] = words[1], h[5] = words[0];
    h[2] = words[7], h[3] = words[6], h[6] = words[5], h[7] = words[4];
}

// One step of the message schedule without its last term, for four words, like SHA256MSG1. On
// Intel's processors that instruction competes with SHA256RNDS2, so if vectors can be rotated four
// simple instructions are faster.
#define FERRY_ROTATED(words, count) ((words) >> (count) | (words) << (32 - (count)))
__attribute__((target("sha,sse4.1"), always_inline)) static inline __m128i ferry_sha256_schedule(
    __m128i first, __m128i next, int rotates) {
    if (!rotates) return _mm_sha256msg1_epu32(first, next);
    typedef uint32_t words __attribute__((vector_size(16)));
    const words after = (words)_mm_alignr_epi8(next, first, 4);
    return (__m128i)((words)first + (FERRY_ROTATED(after, 7) ^ FERRY_ROTATED(after, 18) ^ after >> 3));
}
#undef FERRY_ROTATED

// The words of the four steps that follow sixteen steps later.
__attribute__((target("sha,sse4.1"), always_inline)) static inline __m128i ferry_sha256_later(
    const __m128i words[4], int i, int rotates) {
    const __m128i last = words[(i + 3) & 3];
    return _mm_sha256msg2_epu32(
        _mm_add_epi32(
            ferry_sha256_schedule(words[i & 3], words[(i + 1) & 3], rotates),
            _mm_alignr_epi8(last, words[(i + 2) & 3], 4)),
        last);
}

// FIPS 180-4, 6.2.2, for two messages; four of the 64 steps at a time.
__attribute__((target("sha,sse4.1"), always_inline)) static inline void ferry_sha256_pair(
    uint32_t first[8], const uint8_t *p, uint32_t second[8], const uint8_t *q, size_t blocks, int rotates) {
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    struct ferry_sha256_registers x = ferry_sha256_load(first), y = ferry_sha256_load(second);
    for (; blocks > 0; blocks--, p += 64, q += 64) {
        const struct ferry_sha256_registers x_before = x, y_before = y;
        __m128i v[4], w[4];
        for (int i = 0; i < 4; i++) {
            v[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(p + 16 * i)), big_endian);
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(q + 16 * i)), big_endian);
        }
#pragma clang loop unroll(full)
        for (int i = 0; i < 16; i++) {
            const __m128i constants = _mm_loadu_si128((const __m128i *)(ferry_sha256_constants + 4 * i));
            const __m128i s = _mm_add_epi32(v[i & 3], constants), t = _mm_add_epi32(w[i & 3], constants);
            x.hgdc = _mm_sha256rnds2_epu32(x.hgdc, x.feba, s);
            y.hgdc = _mm_sha256rnds2_epu32(y.hgdc, y.feba, t);
            x.feba = _mm_sha256rnds2_epu32(x.feba, x.hgdc, _mm_shuffle_epi32(s, 0x0e));
            y.feba = _mm_sha256rnds2_epu32(y.feba, y.hgdc, _mm_shuffle_epi32(t, 0x0e));
            if (i >= 12) continue;
            v[i & 3] = ferry_sha256_later(v, i, rotates), w[i & 3] = ferry_sha256_later(w, i, rotates);
        }
        x.feba = _mm_add_epi32(x.feba, x_before.feba), x.hgdc = _mm_add_epi32(x.hgdc, x_before.hgdc);
        y.feba = _mm_add_epi32(y.feba, y_before.feba), y.hgdc = _mm_add_epi32(y.hgdc, y_before.hgdc);
    }
    ferry_sha256_store(x, first), ferry_sha256_store(y, second);
}

__attribute__((target("sha,sse4.1"))) static inline void ferry_sha256_pair_plain(
    uint32_t first[8], const uint8_t *p, uint32_t second[8], const uint8_t *q, size_t blocks) {
    ferry_sha256_pair(first, p, second, q, blocks, 0);
}

__attribute__((target("sha,sse4.1,avx512f,avx512vl"))) static inline void ferry_sha256_pair_rotating(
    uint32_t first[8], const uint8_t *p, uint32_t second[8], const uint8_t *q, size_t blocks) {
    ferry_sha256_pair(first, p, second, q, blocks, 1);
}

// Hashes the same number of blocks of each message. Requires the instructions. `rotates` requires
// `ferry_sha256_has_lanes`, and takes less time then.
static inline void ferry_sha256_two_update(
    ferry_sha256_state *first, const uint8_t *p, ferry_sha256_state *second, const uint8_t *q, size_t blocks, int rotates) {
    if (rotates)
        ferry_sha256_pair_rotating(first->h, p, second->h, q, blocks);
    else
        ferry_sha256_pair_plain(first->h, p, second->h, q, blocks);
}
#else
static inline int ferry_sha256_has_instructions(void) { return 0; }
static inline void ferry_sha256_two_update(
    ferry_sha256_state *first, const uint8_t *p, ferry_sha256_state *second, const uint8_t *q, size_t blocks, int rotates) {}
#endif
