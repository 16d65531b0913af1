/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/wait/registrations.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

static int instance(void)
{
	int ep = epoll_create1(EPOLL_CLOEXEC);

	cr_assert_geq(ep, 0);
	return ep;
}

static int put(int ep, uint32_t events, uint64_t data)
{
	struct epoll_event e = {.events = events, .data.u64 = data};
	int fd = eventfd(0, EFD_CLOEXEC);

	cr_assert_geq(fd, 0);
	cr_assert_eq(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e), 0);
	return fd;
}

static void assert_found(int ep, int fd, uint32_t events, uint64_t data)
{
	struct epoll_event e;

	memset(&e, 0xee, sizeof(e));
	cr_assert(registrations_find(ep, fd, &e));
	/* The kernel adds these two to every registration. */
	cr_assert_eq(e.events & ~(uint32_t)(EPOLLERR | EPOLLHUP), events);
	cr_assert_eq(e.data.u64, data);
}

Test(registrations, events_and_data_come_back_as_they_were_given)
{
	const uint64_t data[] = {0,
				 1,
				 UINT64_MAX,
				 0x8000000000000000,
				 0x7fffffffffffffff,
				 0x123456789abcdef0};
	const uint32_t events[] = {EPOLLIN,
				   EPOLLOUT,
				   EPOLLIN | EPOLLOUT | EPOLLRDHUP,
				   EPOLLIN | EPOLLET,
				   EPOLLIN | EPOLLONESHOT | EPOLLPRI,
				   0};
	int ep = instance();
	int fd[6];

	for (int i = 0; i < 6; i++)
		fd[i] = put(ep, events[i], data[i]);
	for (int i = 0; i < 6; i++)
		assert_found(ep, fd[i], events[i], data[i]);
}

Test(registrations, what_is_not_there_is_not_found)
{
	int ep = instance();
	int empty = instance();
	struct epoll_event e = {.events = 77};
	int fd = put(ep, EPOLLIN, 1);

	cr_assert(!registrations_find(empty, fd, &e));
	cr_assert(!registrations_find(ep, fd + 1000, &e));
	cr_assert(!registrations_find(ep, -1, &e));
	cr_assert(!registrations_find(fd, fd, &e));
	cr_assert(!registrations_find(ep + 1000, fd, &e));
	cr_assert_eq(e.events, 77);
	cr_assert_eq(epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL), 0);
	cr_assert(!registrations_find(ep, fd, &e));
}

Test(registrations, a_number_is_not_mistaken_for_one_that_begins_like_it)
{
	int ep = instance();
	struct epoll_event e;
	int fd = put(ep, EPOLLIN, 5);
	int high = fcntl(fd, F_DUPFD_CLOEXEC, fd * 10 + 1);

	cr_assert_geq(high, fd * 10);
	e.events = EPOLLOUT;
	e.data.u64 = 6;
	cr_assert_eq(epoll_ctl(ep, EPOLL_CTL_ADD, high, &e), 0);
	assert_found(ep, fd, EPOLLIN, 5);
	assert_found(ep, high, EPOLLOUT, 6);
}

Test(registrations, a_change_is_what_is_found)
{
	int ep = instance();
	int fd = put(ep, EPOLLIN, 1);
	struct epoll_event e = {.events = EPOLLOUT, .data.u64 = 2};

	cr_assert_eq(epoll_ctl(ep, EPOLL_CTL_MOD, fd, &e), 0);
	assert_found(ep, fd, EPOLLOUT, 2);
}

/* More text than one read brings: lines lie across its end. */
Test(registrations, each_of_many_is_found)
{
	struct rlimit limit;
	int ep = instance();
	int fd[300];

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	cr_assert_geq(limit.rlim_cur, 320);
	for (int i = 0; i < 300; i++)
		fd[i] = put(ep, EPOLLIN, (uint64_t)i << 40 | 3);
	for (int i = 0; i < 300; i++)
		assert_found(ep, fd[i], EPOLLIN, (uint64_t)i << 40 | 3);
}

/* The instance has a number of its own, with up to seven digits. */
Test(registrations, instances_of_any_number_are_read)
{
	int ep = instance();
	int fd = put(ep, EPOLLIN, 9);
	struct rlimit limit;
	rlim_t at;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	for (at = 10; at < limit.rlim_cur && at < 1 << 20; at *= 10) {
		int other = fcntl(ep, F_DUPFD_CLOEXEC, (int)at);

		cr_assert_geq(other, (int)at);
		assert_found(other, fd, EPOLLIN, 9);
		close(other);
	}
}
