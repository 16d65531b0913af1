/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/service/rc_keys.h"

#include <criterion/criterion.h>
#include <errno.h>

static struct rc_keys keys;

Test(rc_keys, one_rmb_is_one_row)
{
	int row = rc_keys_add(&keys, 0, 0x602, 0x1000);

	cr_assert_geq(row, 0);
	cr_assert_eq(rc_keys_add(&keys, 0, 0x602, 0x1000), row);
	cr_assert_neq(rc_keys_add(&keys, 0, 0x602, 0x2000), row);
	cr_assert_eq(rc_keys_find(&keys, 0, 0x602, 0x1000), row);
	cr_assert_eq(rc_keys_find(&keys, 1, 0x602, 0x1000), -ENOENT);
	cr_assert_eq(rc_keys_find(&keys, 0, 0x603, 0x1000), -ENOENT);
}

Test(rc_keys, row_is_the_same_rmb_on_both_links)
{
	int row = rc_keys_add(&keys, 0, 7, 0x1000);

	cr_assert_eq(rc_keys_join(&keys, row, 1, 8, 0x9000), 0);
	cr_assert_eq(rc_keys_join(&keys, row, 1, 8, 0x9000), 0);
	cr_assert_eq(rc_keys_join(&keys, row, 1, 9, 0x9000), -EEXIST);
	cr_assert_eq(rc_keys_find(&keys, 1, 8, 0x9000), row);
	cr_assert_eq(rc_keys_delete(&keys, 0, 8), -ENOENT);
	cr_assert_eq(rc_keys_delete(&keys, 1, 8), row);
	cr_assert_eq(rc_keys_find(&keys, 0, 7, 0x1000), -ENOENT);
}

Test(rc_keys, full_table_is_an_error_until_a_row_is_free)
{
	for (int i = 0; i < RC_KEYS_ROWS; i++)
		cr_assert_geq(rc_keys_add(&keys, 0, (uint32_t)i, 1), 0);
	cr_assert_eq(rc_keys_add(&keys, 0, 1000, 1), -ENOSPC);
	cr_assert_geq(rc_keys_add(&keys, 0, 200, 1), 0, "it is there");
	int row = rc_keys_delete(&keys, 0, 100);
	cr_assert_eq(rc_keys_add(&keys, 0, 1000, 1), row);
}

Test(rc_keys, rows_of_a_link_that_goes)
{
	int both = rc_keys_add(&keys, 0, 7, 0x1000);
	int only = rc_keys_add(&keys, 1, 5, 0x1000);

	cr_assert_eq(rc_keys_join(&keys, both, 1, 8, 0x1000), 0);
	rc_keys_drop_link(&keys, 1);
	cr_assert_eq(keys.row[both].links, 1);
	cr_assert_eq(keys.row[only].links, 0);
	cr_assert_eq(rc_keys_find(&keys, 1, 8, 0x1000), -ENOENT);
	cr_assert_eq(rc_keys_find(&keys, 0, 7, 0x1000), both);
}
