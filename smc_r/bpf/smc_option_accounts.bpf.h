/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * smc_option_accounts: which directory and how much RMB memory each user has.
 * Part of smc_option.bpf.c, not a header for others.
 *
 * Locking: bytes of all accounts, and their sum, change under the ledger's
 *          lock; a directory's number by compare-and-swap.
 */
#ifndef SMC_R_SMC_OPTION_ACCOUNTS_BPF_H
#define SMC_R_SMC_OPTION_ACCOUNTS_BPF_H

#include "smc_r/bpf/smc_option_maps.bpf.h"

/* The key is the user's number outside all user namespaces. A command that
 * attaches the program puts in the directories that are there (bpf_load.c). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, OPTION_ACCOUNTS_MAX);
	__type(key, __u32);
	__type(value, struct option_account_kept);
} accounts SEC(".maps");

struct ledger {
	struct bpf_spin_lock lock;
	__u32 pad;
	__u64 used; /* the sum over all accounts */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ledger);
} ledger SEC(".maps");

static __always_inline struct option_account_kept *account_own(void)
{
	__u32 user = (__u32)bpf_get_current_uid_gid();

	return bpf_map_lookup_elem(&accounts, &user);
}

static __always_inline int account_name(struct bpf_sockopt *ctx)
{
	const struct option_account_name *name = ctx->optval;
	__u32 user = (__u32)bpf_get_current_uid_gid();
	struct option_account_kept *a, fresh = {.bytes = 0};
	int error;

	if ((void *)(name + 1) > ctx->optval_end || name->after == 0 ||
	    name->after >> OPTION_DIRECTORY_BITS)
		return -EINVAL;
	a = bpf_map_lookup_elem(&accounts, &user);
	if (a)
		return __sync_val_compare_and_swap(&a->directory, name->before,
						   name->after) == name->before
			   ? 0
			   : -EEXIST;
	if (name->before)
		return -EEXIST;
	fresh.directory = name->after;
	error = bpf_map_update_elem(&accounts, &user, &fresh, BPF_NOEXIST);
	return error == -E2BIG ? -ENOSPC : error;
}

static __always_inline int account_hold(struct bpf_sockopt *ctx)
{
	const struct option_account_bytes *wanted = ctx->optval;
	struct option_account_kept *a = account_own();
	const struct option_settings *s;
	__u64 bytes, limit, share;
	struct ledger *l;
	__u32 key = 0;
	int error = 0;

	s = bpf_map_lookup_elem(&settings, &key);
	l = bpf_map_lookup_elem(&ledger, &key);
	if ((void *)(wanted + 1) > ctx->optval_end || !s || !l)
		return -EINVAL;
	if (!a || a->directory != wanted->directory)
		return -ESTALE;
	bytes = wanted->bytes;
	limit = wanted->limit < s->max_memory ? wanted->limit : s->max_memory;
	share = s->share == 2 ? limit / 2 : limit;
	bpf_spin_lock(&l->lock);
	/* The second sum cannot wrap where the first is within its limit. */
	if (bytes > a->bytes &&
	    (bytes > share || l->used - a->bytes + bytes > limit)) {
		error = -ENOMEM;
	} else {
		l->used += bytes - a->bytes;
		a->bytes = bytes;
	}
	bpf_spin_unlock(&l->lock);
	return error;
}

/* False: there is no room for the answer. */
static __always_inline bool account_tell(struct bpf_sockopt *ctx)
{
	struct option_account *answer = ctx->optval;
	const struct option_settings *s;
	const struct option_account_kept *a = account_own();
	const struct ledger *l;
	__u32 key = 0;

	if ((void *)(answer + 1) > ctx->optval_end)
		return false;
	s = bpf_map_lookup_elem(&settings, &key);
	l = bpf_map_lookup_elem(&ledger, &key);
	answer->answer = OPTION_ANSWER;
	answer->directory = a ? a->directory : 0;
	answer->bytes = a ? a->bytes : 0;
	answer->used = l ? l->used : 0;
	answer->share = s ? s->share : 1;
	answer->pad = 0;
	return true;
}

#endif
