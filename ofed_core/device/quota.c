/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * quota: accounts of users.
 */
#include "ofed_core/device/quota.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ofed_core/base/log.h"
#include "ofed_core/device/device.h"

#define HANDLES_MAX (2 << 20)
#define IDS_MAX     262144
#define OWN_FILES   64 /* descriptors that the core needs for itself */

struct quota {
	struct quota *next;
	uid_t uid;
	atomic_bool has_warned;
	_Atomic uint64_t used[QUOTA_KINDS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct quota *all;
/* The sum over all users but root and the core's owner. */
static _Atomic uint64_t others[QUOTA_KINDS];

struct quota *quota_of(uid_t uid)
{
	struct quota *q;

	pthread_mutex_lock(&lock);
	for (q = all; q && q->uid != uid; q = q->next)
		continue;
	if (!q) {
		q = calloc(1, sizeof(*q));
		if (q) {
			q->uid = uid;
			q->next = all;
			all = q;
		}
	}
	pthread_mutex_unlock(&lock);
	return q;
}

static const struct {
	const char *name;
	uint64_t total; /* of it; 0: what this host has (total) */
} kinds[QUOTA_KINDS] = {
    [QUOTA_FILES] = {"descriptors", 0},
    [QUOTA_HANDLES] = {"objects", HANDLES_MAX},
    [QUOTA_PAIRS] = {"queue pairs", MAX_QP},
    [QUOTA_KEYS] = {"memory keys", MAX_MR},
    [QUOTA_IDS] = {"rdma_cm ids", IDS_MAX},
    [QUOTA_BYTES] = {"memory for queues", 0},
};

/* What there is of a kind; a user may have half of it. */
static uint64_t total(enum quota_kind kind)
{
	struct rlimit files;

	if (kind == QUOTA_FILES)
		return getrlimit(RLIMIT_NOFILE, &files) < 0 ? 1024
							    : files.rlim_cur;
	if (kind == QUOTA_BYTES)
		return (uint64_t)sysconf(_SC_PHYS_PAGES) *
		       (uint64_t)sysconf(_SC_PAGESIZE);
	return kinds[kind].total;
}

static bool is_bounded(const struct quota *q)
{
	return q->uid != 0 && q->uid != geteuid();
}

/* A part that bounded users leave to the others, whatever they take. */
static uint64_t reserve(enum quota_kind kind)
{
	return total(kind) / 16 + (kind == QUOTA_FILES ? OWN_FILES : 0);
}

int quota_take(struct quota *q, enum quota_kind kind, uint64_t n)
{
	uint64_t used = atomic_fetch_add(&q->used[kind], n) + n;
	uint64_t by_all;

	if (!is_bounded(q))
		return 0;
	by_all = atomic_fetch_add(&others[kind], n) + n;
	if (used <= total(kind) / 2 && by_all + reserve(kind) <= total(kind))
		return 0;
	quota_give(q, kind, n);
	if (!atomic_exchange(&q->has_warned, true))
		log_warning("user %u has half of all %s, or all users have "
			    "what they may: no more are given",
			    (unsigned)q->uid, kinds[kind].name);
	return -ENOMEM;
}

void quota_give(struct quota *q, enum quota_kind kind, uint64_t n)
{
	atomic_fetch_sub(&q->used[kind], n);
	if (is_bounded(q))
		atomic_fetch_sub(&others[kind], n);
}

int64_t quota_add(struct quota *q, enum quota_kind kind, struct table *t,
		  void *entry)
{
	int64_t number = quota_take(q, kind, 1);

	if (number < 0)
		return number;
	number = table_add(t, entry);
	if (number < 0)
		quota_give(q, kind, 1);
	return number;
}

void quota_remove(struct quota *q, enum quota_kind kind, struct table *t,
		  uint32_t number)
{
	table_remove(t, number);
	quota_give(q, kind, 1);
}
