#pragma once
// The gear hash of sixteen segments of a block at once, with instructions for which Swift has no
// names.
#include <stddef.h>
#include <stdint.h>

// The number of bytes of each of the sixteen segments of a block.
enum { ferry_gear_segment = 1 << 10, ferry_gear_block = 16 * ferry_gear_segment };

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

// Whether the processor has the instructions of `ferry_gear_passes`.
static inline int ferry_gear_has_instructions(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
}

// Whether to use them: only on processors that also have SERIALIZE, Intel's since Sapphire Rapids.
// There, loading eight words at once ("gather") is faster than one after another; on older ones it
// is not.
static inline int ferry_gear_is_fast(void) {
    unsigned int a, b, c, d;
    return ferry_gear_has_instructions() && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & (1u << 14));
}

// Rolls the hash over a block. If no byte has a hash with all bits of the mask zero, returns 1 and
// sets `hash` to the hash at the end of the block. Otherwise returns 0 and leaves `hash` unchanged.
// A hash depends on the last 64 bytes, so each segment but the first starts with the last bytes of
// the segment before it.
__attribute__((target("avx512f,avx512dq"))) static inline int ferry_gear_passes(
    const uint64_t table[256], const uint8_t *bytes, uint64_t mask, uint64_t *hash) {
    const __m512i low = _mm512_set1_epi64(0xff), wanted = _mm512_set1_epi64((long long)mask);
    const __m512i lanes = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i first = _mm512_mullo_epi64(lanes, _mm512_set1_epi64(ferry_gear_segment));
    const __m512i second = _mm512_add_epi64(first, _mm512_set1_epi64(8 * ferry_gear_segment));
    // The hash before the first segment is known, and there may be no bytes before it.
    const __m512i before = _mm512_mask_sub_epi64(first, 0xfe, first, _mm512_set1_epi64(64));
    __m512i x = _mm512_setzero_si512(), y = x;
    __mmask8 found = 0;
    for (int step = -64; step < ferry_gear_segment; step += 8) {
        const uint8_t *at = bytes + step;
        if (step == 0) {
            x = _mm512_mask_set1_epi64(x, 1, (long long)*hash);
            found = 0;
        }
        __m512i p = step < 0 ? _mm512_i64gather_epi64(before, at + 64, 1) : _mm512_i64gather_epi64(first, at, 1);
        __m512i q = _mm512_i64gather_epi64(second, at, 1);
#pragma clang loop unroll(full)
        for (int byte = 0; byte < 8; byte++) {
            x = _mm512_add_epi64(_mm512_add_epi64(x, x), _mm512_i64gather_epi64(_mm512_and_si512(p, low), table, 8));
            y = _mm512_add_epi64(_mm512_add_epi64(y, y), _mm512_i64gather_epi64(_mm512_and_si512(q, low), table, 8));
            found |= _mm512_testn_epi64_mask(x, wanted) | _mm512_testn_epi64_mask(y, wanted);
            p = _mm512_srli_epi64(p, 8), q = _mm512_srli_epi64(q, 8);
        }
        if (step >= 0 && found) return 0;
    }
    *hash = (uint64_t)_mm_extract_epi64(_mm512_extracti64x2_epi64(y, 3), 1);
    return 1;
}
#else
static inline int ferry_gear_has_instructions(void) { return 0; }
static inline int ferry_gear_is_fast(void) { return 0; }
static inline int ferry_gear_passes(const uint64_t table[256], const uint8_t *bytes, uint64_t mask, uint64_t *hash) {
    return 0;
}
#endif
