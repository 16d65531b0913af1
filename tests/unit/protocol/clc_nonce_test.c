/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/protocol/clc_wire.h"
#include "tests/unit/hex.h"

#include <criterion/criterion.h>
#include <string.h>

/* Captured from Linux before 5.10, on a loopback interface. */
#define ACCEPT                                                                 \
	"e2d4c3d9 02 0044 18 b1a098039babcdef "                                \
	"fe800000000000009a039bfffeabcdef"                                     \
	"98039babcdef 0000e4 0000157d 01 00000005 23 00 00000000f0a60000 00"   \
	"72f5fe e2d4c3d9"

Test(clc_nonce, a_nonce_travels_in_rkey_address_and_token)
{
	uint8_t nonce[CLC_NONCE_BYTES];
	uint8_t back[CLC_NONCE_BYTES];
	uint8_t bytes[CLC_BYTES_MAX];
	struct clc_accept_confirm m;
	size_t n = hex_decode(ACCEPT, bytes, sizeof(bytes));

	for (int i = 0; i < CLC_NONCE_BYTES; i++)
		nonce[i] = (uint8_t)(0xf0 + i);
	cr_assert_eq(clc_decode_accept_confirm(&m, bytes, n), 0);
	clc_nonce_set(&m, nonce);
	cr_assert_eq(clc_encode_accept_confirm(&m, bytes, sizeof(bytes)), 68);
	cr_assert_eq(memcmp(bytes + 41, nonce, 4), 0, "rkey");
	cr_assert_eq(memcmp(bytes + 52, nonce + 4, 8), 0, "address");
	cr_assert_eq(memcmp(bytes + 46, nonce + 12, 4), 0, "token");
	cr_assert_eq(clc_decode_accept_confirm(&m, bytes, 68), 0);
	clc_nonce_get(&m, back);
	cr_assert_eq(memcmp(nonce, back, sizeof(nonce)), 0);
}

Test(clc_nonce, a_nonce_never_makes_the_token_zero)
{
	uint8_t nonce[CLC_NONCE_BYTES] = {1, 2, 3};
	uint8_t back[CLC_NONCE_BYTES];
	struct clc_accept_confirm m = {0};

	clc_nonce_set(&m, nonce);
	cr_assert_eq(m.token, 1);
	clc_nonce_get(&m, back);
	cr_assert_eq(memcmp(nonce, back, sizeof(nonce)), 0,
		     "the caller's copy is what travels");
}
