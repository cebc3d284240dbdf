#pragma once
// MD5 (RFC 1321) of one message, and of eight in parallel, each in one lane of the vectors. Each step
// of a message depends on the one before it, so eight messages at once take hardly longer than two in
// sequence.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { ferry_md5_block = 64, ferry_md5_lanes = 8 };

// The hash of the blocks so far: RFC 1321, 3.3.
typedef struct {
    uint32_t a, b, c, d;
} ferry_md5_state;

// RFC 1321, 3.4: the rotations of the four rounds, and the integer part of 2^32 |sin i|.
static const int ferry_md5_rotations[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
static const uint32_t ferry_md5_sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

// The 64 steps of a block, where `a` to `d` and `words` are either integers or vectors of them.
#define FERRY_MD5_STEPS(type)                                                                                      \
    _Pragma("clang loop unroll(full)") for (int i = 0; i < 64; i++) {                                              \
        const int round = i / 16, rotation = ferry_md5_rotations[round][i % 4];                                    \
        const int index = (round == 0 ? i : round == 1 ? 5 * i + 1 : round == 2 ? 3 * i + 5 : 7 * i) % 16;         \
        const type mixed = round == 0 ? d ^ (b & (c ^ d))                                                          \
            : round == 1              ? c ^ (d & (b ^ c))                                                          \
            : round == 2              ? b ^ c ^ d                                                                  \
                                      : c ^ (b | ~d);                                                              \
        const type sum = a + words[index] + ferry_md5_sines[i] + mixed;                                            \
        a = d, d = c, c = b;                                                                                       \
        b += sum << rotation | sum >> (32 - rotation);                                                             \
    }

// Hashes this number of blocks of one message.
static inline void ferry_md5_update(ferry_md5_state *state, const uint8_t *message, size_t blocks) {
    for (; blocks > 0; blocks--, message += ferry_md5_block) {
        uint32_t a = state->a, b = state->b, c = state->c, d = state->d, words[16];
        for (int i = 0; i < 16; i++) {
            const uint8_t *p = message + 4 * i;
            words[i] = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        }
        FERRY_MD5_STEPS(uint32_t)
        state->a += a, state->b += b, state->c += c, state->d += d;
    }
}

#if defined(__x86_64__)
static inline int ferry_md5_has_lanes(void) { return __builtin_cpu_supports("avx2"); }

typedef uint32_t ferry_md5_words __attribute__((vector_size(4 * ferry_md5_lanes)));

// Hashes this number of blocks of each message. Requires `ferry_md5_has_lanes`.
__attribute__((target("avx2"))) static inline void ferry_md5_lanes_update(
    ferry_md5_state states[ferry_md5_lanes], const uint8_t *const messages[ferry_md5_lanes], size_t blocks) {
    ferry_md5_words a, b, c, d;
    for (int lane = 0; lane < ferry_md5_lanes; lane++) {
        a[lane] = states[lane].a, b[lane] = states[lane].b;
        c[lane] = states[lane].c, d[lane] = states[lane].d;
    }
    for (size_t offset = 0; offset < blocks * ferry_md5_block; offset += ferry_md5_block) {
        const ferry_md5_words before[4] = {a, b, c, d};
        ferry_md5_words words[16];
#pragma clang loop unroll(full)
        for (int i = 0; i < 16; i++) {
#pragma clang loop unroll(full)
            for (int lane = 0; lane < ferry_md5_lanes; lane++) {
                uint32_t word;
                memcpy(&word, messages[lane] + offset + 4 * i, sizeof word);
                words[i][lane] = word;
            }
        }
        FERRY_MD5_STEPS(ferry_md5_words)
        a += before[0], b += before[1], c += before[2], d += before[3];
    }
    for (int lane = 0; lane < ferry_md5_lanes; lane++) {
        const ferry_md5_state state = {a[lane], b[lane], c[lane], d[lane]};
        states[lane] = state;
    }
}
#else
static inline int ferry_md5_has_lanes(void) { return 0; }
static inline void ferry_md5_lanes_update(
    ferry_md5_state states[ferry_md5_lanes], const uint8_t *const messages[ferry_md5_lanes], size_t blocks) {}
#endif
#undef FERRY_MD5_STEPS
