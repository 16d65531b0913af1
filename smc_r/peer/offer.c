/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* offer: marks sockets as speaking SMC. */
#include "smc_r/peer/offer.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "smc_r/os/option_instance.h"
#include "smc_r/os/relaxed.h"
#include "smc_r/os/sys.h"
#include "smc_r/status/account.h"

/* Written once, by offer_init(). 0: no instance, nothing to ask. */
static uint32_t instance;

int offer_init(const char *rundir)
{
	account_init(rundir);
	return option_instance(rundir, &instance);
}

static int set(int fd, const void *value, socklen_t length)
{
	if (!instance)
		return -EOPNOTSUPP;
	return (int)SYS_CALL6(SYS_setsockopt, fd, OPTION_LEVEL, instance, value,
			      length, 0);
}

static int mark(int fd, int value)
{
	return set(fd, &value, sizeof(value));
}

int offer_mark_visitor(int fd, const struct in6_addr *where, uint16_t port,
		       const struct option_knock *knock)
{
	struct option_knocking visit = {.visit = {.mark = 1, .port = port}};
	int error;

	memcpy(visit.visit.address, where, sizeof(visit.visit.address));
	if (knock) {
		visit.knock = *knock;
		return set(fd, &visit, sizeof(visit));
	}
	error = set(fd, &visit.visit, sizeof(visit.visit));

	/* A BPF program that was attached before there were visitors. */
	return error == -EINVAL ? mark(fd, 1) : error;
}

void offer_moved(int fd, const struct option_moved *moved)
{
	set(fd, moved, sizeof(*moved));
}

int offer_mark(int fd)
{
	return mark(fd, 1);
}

int offer_mark_deferred(int fd)
{
	int error = mark(fd, OPTION_MARK | OPTION_DEFERS);

	/* A BPF program that was attached before it knew of such: no client may
	 * take this one for a listener that accepts at once. */
	if (error == -EINVAL)
		mark(fd, 0);
	return error;
}

int offer_pause(int fd)
{
	return mark(fd, OPTION_MARK | OPTION_PAUSES);
}

int offer_unmark(int fd)
{
	return mark(fd, 0);
}

/* Bytes of the answer, or -errno. */
static int get(int fd, void *answer, socklen_t length)
{
	int error;

	if (!instance)
		return -EOPNOTSUPP;
	error = (int)SYS_CALL6(SYS_getsockopt, fd, OPTION_LEVEL, instance,
			       answer, &length, 0);
	return error ? error : (int)length;
}

/* -EOPNOTSUPP: a success that our program did not give. */
static int bits_of(uint32_t state)
{
	if ((state & OPTION_ANSWER_MASK) != OPTION_ANSWER)
		return -EOPNOTSUPP;
	return (int)(state & ~OPTION_ANSWER_MASK);
}

int offer_state(int fd)
{
	uint32_t answer = 0;
	int length = get(fd, &answer, sizeof(answer));

	if (length < 0)
		return length;
	return length == sizeof(answer) ? bits_of(answer) : -EOPNOTSUPP;
}

/* As much as room says, which is one of the two lengths. */
static int look(int fd, struct option_answer *a, socklen_t room)
{
	int length;

	a->knock.token = 0;
	length = get(fd, a, room);
	if (length < 0)
		return length;
	/* A BPF program that was attached before it could tell names. */
	if (length == sizeof(a->state))
		a->port = 0;
	else if (length != sizeof(*a) && length != OPTION_ANSWER_SHORT)
		return -EOPNOTSUPP;
	return bits_of(a->state);
}

int offer_look(int fd, struct option_answer *a)
{
	return look(fd, a, OPTION_ANSWER_SHORT);
}

/* For more than 32 bytes the kernel allocates a buffer with each question. Most
 * servers have either clients that agree or clients that do not. */
int offer_look_accepted(int fd, struct option_answer *a)
{
	static _Atomic bool last_agreed;
	bool expected = relaxed_load(&last_agreed);
	int state = look(fd, a, expected ? sizeof(*a) : OPTION_ANSWER_SHORT);
	bool agreed = state > 0 && (state & OFFER_AGREED);
	int more;

	/* It has no memory for that buffer; what it tells without one counts.
	 */
	if (state == -ENOMEM && expected)
		return look(fd, a, OPTION_ANSWER_SHORT);
	if (agreed == expected)
		return state;
	relaxed_store(&last_agreed, agreed);
	if (!agreed)
		return state;
	more = look(fd, a, sizeof(*a));
	return more == -ENOMEM ? state : more;
}
