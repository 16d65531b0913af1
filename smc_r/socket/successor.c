/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* successor: descriptors that go to somebody without the engine. */
#include "smc_r/socket/successor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "smc_r/connection/connection.h"
#include "smc_r/epoll/epoll_member.h"
#include "smc_r/epoll/epoll_set.h"
#include "smc_r/epoll/epoll_shared.h"
#include "smc_r/os/pages.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/peer/offer.h"
#include "smc_r/peer/registry.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/socket/socket_listen.h"
#include "smc_r/status/segment.h"

#define CONTROL_MOST (1u << 20) /* bytes; more the kernel refuses */

/*
 * Descriptors that are looked at although we know nothing of them: those that
 * inetd and socket activation use, where the program that executed us had a
 * marked listener to hand on.
 */
#define HEIRLOOM_END 16

/* Inherited by us, perhaps, and only to be handed on, as by a shell. */
static bool is_inherited_listener(int fd)
{
	int state = fd < HEIRLOOM_END ? offer_state(fd) : 0;

	return state > 0 && (state & OFFER_WANT) &&
	       sys_socket_option(fd, SO_ACCEPTCONN);
}

void successor_adopt_listeners(void)
{
	if (!exec_check_inherits_listeners())
		return;
	for (int fd = 0; fd < HEIRLOOM_END; fd++)
		if (!fdtable_get(fd) && is_inherited_listener(fd))
			socket_before_accept(fd);
}

static bool is_listener(int fd)
{
	if (fdtable_get(fd))
		return listener_of(fd) != NULL;
	return exec_check_inherits_listeners() && is_inherited_listener(fd);
}

/* Somebody without the engine may accept from it, from now on. */
static void give_listener(int fd)
{
	struct listener *l = listener_of(fd);

	if (l)
		l->given = true;
	offer_unmark(fd);
}

static void pass_on(int fd, uint32_t reason, enum successor successor)
{
	struct connection *c = connection_of(fd);
	int error = errno;

	if (c)
		demote_for_successor(c, fd, reason, successor);
	else if (listener_of(fd))
		give_listener(fd);
	else if (epoll_of(fd) && !process_is_foreign())
		epoll_give_all(epoll_of(fd));
	errno = error;
}

/* A child by vfork has no entry of its own. */
static void hold_for_successor(void)
{
	if (process_is_foreign())
		return;
	engine_lock();
	segment_before_successor();
	engine_unlock();
}

void successor_descriptor(int fd, uint32_t reason)
{
	pass_on(fd, reason, SUCCESSOR_GIVEN);
}

static bool is_inherited(int fd)
{
	long flags = SYS_CALL3(SYS_fcntl, fd, F_GETFD, 0);

	return flags >= 0 && !(flags & FD_CLOEXEC);
}

static void give_listeners(int end)
{
	for (int fd = 0; fd < end; fd++)
		if (is_listener(fd) && is_inherited(fd))
			give_listener(fd);
}

/* If there is no such program, the next accept() puts them back. */
static void leave_registry(void)
{
	registry_unlisten_all();
	for (int fd = 0; fd < fdtable_listeners_end(); fd++)
		if (listener_of(fd))
			listener_of(fd)->marked_by = 0;
}

/* None of the private ones is inherited; with instances that have no members
 * there is nothing to do. */
static bool is_ours(int fd)
{
	const struct fdentry *e = fdtable_get(fd);

	return e && e->kind != FDENTRY_PRIVATE &&
	       (e->kind != FDENTRY_EPOLL || epoll_has_members(epoll_of(fd)));
}

/* A standard stream is given on purpose. */
enum exec_words successor_exec(const struct exec_image *image,
			       enum successor successor)
{
	enum exec_engine engine = EXEC_LOADS;
	enum exec_words words = EXEC_AS_IS;
	bool has_listener = false;
	int end = fdtable_end();
	int error = errno;

	if (!fdtable || process.confined)
		return EXEC_AS_IS;
	if (exec_check_inherits_listeners() && end < HEIRLOOM_END)
		end = HEIRLOOM_END;
	for (int fd = 0; fd < end; fd++) {
		bool listener = is_listener(fd);

		if ((!listener && !is_ours(fd)) || !is_inherited(fd))
			continue;
		if (listener) {
			has_listener = true;
			continue;
		}
		if (connection_of(fd))
			hold_for_successor();
		pass_on(fd, REASON_DEMOTED_EXEC,
			fd <= STDERR_FILENO ? SUCCESSOR_GIVEN : successor);
	}
	if (has_listener)
		engine = exec_check_engine(image);
	if (engine == EXEC_NONE)
		give_listeners(end);
	if ((!has_listener || engine == EXEC_NONE) &&
	    successor != SUCCESSOR_BESIDE && registry_is_open() &&
	    !process_is_foreign())
		leave_registry();
	if (exec_check_is_misled(image))
		words = EXEC_WITHOUT_US;
	else if (engine == EXEC_ASKED)
		words = EXEC_WITH_US;
	else if (has_listener && engine == EXEC_LOADS)
		words = EXEC_TOLD;
	errno = error;
	return words;
}

void successor_shell(void)
{
	const struct exec_image shell = {AT_FDCWD, "/bin/sh", false, environ};

	enum exec_words words = successor_exec(&shell, SUCCESSOR_BESIDE);

	if (words != EXEC_AS_IS && words != EXEC_TOLD)
		give_listeners(fdtable_end());
}

/* An instance is told of to its receiver from then on. One that a program
 * inherits seldom is: pass_on(). */
static void pass_message(int fd)
{
	struct epoll *e = process_is_foreign() ? NULL : epoll_of(fd);
	int error = errno;

	if (e)
		epoll_release_unseen(e, REASON_DEMOTED_EPOLL);
	else
		successor_descriptor(fd, REASON_DEMOTED_PASSING);
	errno = error;
}

void successor_message(const struct msghdr *m)
{
	struct msghdr copy;

	if (!m || !m->msg_control ||
	    m->msg_controllen < sizeof(struct cmsghdr) ||
	    m->msg_controllen > CONTROL_MOST ||
	    !pages_hold(m->msg_control, m->msg_controllen, false))
		return;
	copy = *m;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&copy); c;
	     c = CMSG_NXTHDR(&copy, c)) {
		size_t n;

		/* The kernel refuses all of it. */
		if (c->cmsg_len > (size_t)((char *)copy.msg_control +
					   copy.msg_controllen - (char *)c))
			return;
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
		    c->cmsg_len < CMSG_LEN(0))
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			pass_message(fd);
		}
	}
}

void successor_all(uint32_t reason)
{
	int end = fdtable_end();

	for (int fd = 0; fd < end; fd++)
		successor_descriptor(fd, reason);
}
