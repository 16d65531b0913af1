/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * crc32: eight bytes at a step by tables, 64 or 128 by carry-less
 * multiplication.
 */
#include "ofed_core/pure/crc32.h"

#include <endian.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#define POLYNOMIAL 0xedb88320u /* 0x04C11DB7, reflected */
#define FOLD_BYTES 64
#define WIDE_BYTES 128

static uint32_t tables[8][256];
/* The index of an entry of tables[0] that begins with the byte. */
static uint8_t place[256];
static bool can_fold;
static bool can_fold_wide;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void prepare(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = c >> 1 ^ (c & 1 ? POLYNOMIAL : 0);
		tables[0][i] = c;
		place[c >> 24] = (uint8_t)i;
	}
	for (uint32_t i = 0; i < 256; i++)
		for (int t = 1; t < 8; t++)
			tables[t][i] = tables[t - 1][i] >> 8 ^
				       tables[0][tables[t - 1][i] & 0xff];
#ifdef __x86_64__
	can_fold = __builtin_cpu_supports("pclmul") &&
		   __builtin_cpu_supports("sse4.1");
	can_fold_wide = can_fold && __builtin_cpu_supports("avx2") &&
			__builtin_cpu_supports("vpclmulqdq");
#endif
}

static uint32_t eight(uint32_t c, const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	v = le64toh(v) ^ c;
	return tables[7][v & 0xff] ^ tables[6][v >> 8 & 0xff] ^
	       tables[5][v >> 16 & 0xff] ^ tables[4][v >> 24 & 0xff] ^
	       tables[3][v >> 32 & 0xff] ^ tables[2][v >> 40 & 0xff] ^
	       tables[1][v >> 48 & 0xff] ^ tables[0][v >> 56];
}

/* The state itself, before its complement is taken. */
static uint32_t step(uint32_t c, const uint8_t *p, size_t count)
{
	for (; count >= 8; count -= 8, p += 8)
		c = eight(c, p);
	for (; count; count--, p++)
		c = c >> 8 ^ tables[0][(c ^ *p) & 0xff];
	return c;
}

#ifdef __x86_64__
/* v moved on by the distance that k stands for, and what lies there. */
__attribute__((target("pclmul,sse4.1"))) static __m128i
fold(__m128i v, __m128i k, __m128i there)
{
	__m128i low = _mm_clmulepi64_si128(v, k, 0x00);
	__m128i high = _mm_clmulepi64_si128(v, k, 0x11);

	return _mm_xor_si128(_mm_xor_si128(low, high), there);
}

/* What v stands for, and the whole blocks of 16 bytes that follow it. */
__attribute__((target("pclmul,sse4.1"))) static uint32_t
finish(__m128i v, const __m128i *at, size_t count)
{
	const __m128i by_16 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
	uint8_t rest[16];

	for (; count; count -= sizeof(rest))
		v = fold(v, by_16, _mm_loadu_si128(at++));
	_mm_storeu_si128((__m128i *)(void *)rest, v);
	return step(0, rest, sizeof(rest));
}

/*
 * A block of 128 bits weighs the same as its products with x^(d+32) and
 * x^(d-32) modulo the polynomial, d bits further on: so 64 bytes become the
 * next 64, and at the end 16 bytes stand for all that was read. count is a
 * multiple of 16, at least 64.
 */
__attribute__((target("pclmul,sse4.1"))) static uint32_t
step_folding(uint32_t c, const uint8_t *p, size_t count)
{
	const __m128i by_64 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
	const __m128i by_16 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
	const __m128i *at = (const __m128i *)(const void *)p;
	__m128i v[4];

	for (int i = 0; i < 4; i++)
		v[i] = _mm_loadu_si128(at++);
	v[0] = _mm_xor_si128(v[0], _mm_cvtsi32_si128((int)c));
	for (count -= FOLD_BYTES; count >= FOLD_BYTES; count -= FOLD_BYTES)
		for (int i = 0; i < 4; i++)
			v[i] = fold(v[i], by_64, _mm_loadu_si128(at++));
	for (int i = 1; i < 4; i++)
		v[i] = fold(v[i - 1], by_16, v[i]);
	return finish(v[3], at, count);
}

#define WIDE __attribute__((target("vpclmulqdq,avx2,pclmul")))

WIDE static __m256i fold_wide(__m256i v, __m256i k, __m256i there)
{
	__m256i low = _mm256_clmulepi64_epi128(v, k, 0x00);
	__m256i high = _mm256_clmulepi64_epi128(v, k, 0x11);

	return _mm256_xor_si256(_mm256_xor_si256(low, high), there);
}

/* Folds two blocks at a time; count is at least 128. */
WIDE static uint32_t step_folding_wide(uint32_t c, const uint8_t *p,
				       size_t count)
{
	const __m256i by_128 = _mm256_broadcastsi128_si256(
	    _mm_set_epi64x(0x14a7fe880, 0x1e88ef372));
	const __m256i by_32 = _mm256_broadcastsi128_si256(
	    _mm_set_epi64x(0x15a546366, 0x0f1da05aa));
	const __m128i by_16 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
	const __m256i *at = (const __m256i *)(const void *)p;
	__m256i v[4];

	for (int i = 0; i < 4; i++)
		v[i] = _mm256_loadu_si256(at++);
	v[0] = _mm256_xor_si256(
	    v[0], _mm256_zextsi128_si256(_mm_cvtsi32_si128((int)c)));
	for (count -= WIDE_BYTES; count >= WIDE_BYTES; count -= WIDE_BYTES)
		for (int i = 0; i < 4; i++)
			v[i] =
			    fold_wide(v[i], by_128, _mm256_loadu_si256(at++));
	for (int i = 1; i < 4; i++)
		v[i] = fold_wide(v[i - 1], by_32, v[i]);
	return finish(fold(_mm256_castsi256_si128(v[3]), by_16,
			   _mm256_extracti128_si256(v[3], 1)),
		      (const __m128i *)(const void *)at, count);
}
#else
static uint32_t step_folding(uint32_t c, const uint8_t *p, size_t count)
{
	return step(c, p, count);
}

static uint32_t step_folding_wide(uint32_t c, const uint8_t *p, size_t count)
{
	return step(c, p, count);
}
#endif

uint32_t crc32_update(uint32_t crc, const void *bytes, size_t count)
{
	const uint8_t *p = bytes;
	size_t folded = count & ~(size_t)15;
	uint32_t c = ~crc;

	pthread_once(&once, prepare);
	if (can_fold && count >= FOLD_BYTES) {
		c = can_fold_wide && count >= WIDE_BYTES
			? step_folding_wide(c, p, folded)
			: step_folding(c, p, folded);
		p += folded;
		count -= folded;
	}
	return ~step(c, p, count);
}

uint32_t crc32_update_tables(uint32_t crc, const void *bytes, size_t count)
{
	pthread_once(&once, prepare);
	return ~step(~crc, bytes, count);
}

/* The state before a byte of zero. */
static uint32_t step_back(uint32_t c)
{
	uint8_t i = place[c >> 24];

	return (c ^ tables[0][i]) << 8 | i;
}

bool crc32_two_bytes(uint32_t difference, size_t after, uint8_t out[2])
{
	uint32_t c = difference;

	/* Equal bytes count as zeros where only differences do. */
	pthread_once(&once, prepare);
	for (; after; after--)
		c = step_back(c);
	c = step_back(c);
	out[0] = place[c >> 24];
	out[1] = (uint8_t)(c ^ tables[0][out[0]]);
	return (c ^ tables[0][out[0]]) >> 8 == 0;
}
