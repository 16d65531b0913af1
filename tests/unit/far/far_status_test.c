/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/far/far_status.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct far_status answer = {.magic = FAR_MAGIC,
				   .version = FAR_VERSION,
				   .ports = 1,
				   .groups = 2,
				   .groups_all = 3,
				   .port = {{.interface = "ent0"}}};

static int check(size_t bytes)
{
	struct far_status copy = answer;

	return far_status_check(&copy, bytes);
}

Test(far_status, answer_is_as_long_as_it_says)
{
	cr_assert_eq(check(far_status_bytes(2)), 0);
	cr_assert_eq(check(far_status_bytes(2) - 1), -EPROTO);
	cr_assert_eq(check(far_status_bytes(1)), -EPROTO);
	cr_assert_eq(check(far_status_bytes(3)), -EPROTO);
	cr_assert_eq(check(sizeof(answer)), -EPROTO);
	cr_assert_eq(check(0), -EPROTO);
	cr_assert_eq(check(23), -EPROTO);
	cr_assert_eq(check(SIZE_MAX), -EPROTO);
}

Test(far_status, numbers_have_bounds)
{
	answer.ports = FAR_PORTS_MAX;
	answer.groups = answer.groups_all = FAR_GROUPS_MAX;
	cr_assert_eq(check(sizeof(answer)), 0);
	answer.ports++;
	cr_assert_eq(check(sizeof(answer)), -EPROTO);
	answer.ports = UINT32_MAX;
	cr_assert_eq(check(sizeof(answer)), -EPROTO);
	answer.ports = 0;
	answer.groups++;
	answer.groups_all++;
	cr_assert_eq(check(far_status_bytes(answer.groups)), -EPROTO);
	answer.groups = answer.groups_all = UINT32_MAX;
	cr_assert_eq(check(far_status_bytes(answer.groups)), -EPROTO);
	answer.groups = 2;
	answer.groups_all = 1;
	cr_assert_eq(check(far_status_bytes(2)), -EPROTO);
}

Test(far_status, magic_and_version_are_ours)
{
	answer.magic++;
	cr_assert_eq(check(far_status_bytes(2)), -EPROTO);
	answer.magic--;
	answer.version++;
	cr_assert_eq(check(far_status_bytes(2)), -EPROTO);
}

Test(far_status, names_end_and_the_rest_is_zeros)
{
	answer.ports = 1;
	memset(answer.port, 'x', sizeof(answer.port));
	memset(answer.group, 'x', sizeof(answer.group));
	answer.port[0].interface[0] = '\033';
	cr_assert_eq(far_status_check(&answer, far_status_bytes(2)), 0);
	cr_assert_eq(strlen(answer.port[0].device),
		     sizeof(answer.port[0].device) - 1);
	cr_assert_eq(strlen(answer.port[0].interface),
		     sizeof(answer.port[0].interface) - 1);
	cr_assert_eq(answer.port[0].interface[0], '?');
	cr_assert_eq(answer.port[1].device[0], '\0');
	cr_assert_eq(strlen(answer.group[1].interface),
		     sizeof(answer.group[1].interface) - 1);
	cr_assert_eq(answer.group[2].interface[0], '\0');
}

/* ---- over a channel ---- */

/* What the asker says of a service that sends these bytes, or leaves. */
static int asked(const void *bytes, size_t n)
{
	struct far_status got;
	struct far_hello hello;
	int end[2], error;

	cr_assert_eq(
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, end), 0);
	if (bytes)
		cr_assert_eq(send(end[1], bytes, n, 0), (ssize_t)n);
	error = far_status_ask(end[0], FAR_STATUS, &got);
	cr_assert_eq(recv(end[1], &hello, sizeof(hello), 0), sizeof(hello));
	cr_assert_eq(hello.kind, FAR_STATUS);
	close(end[0]);
	close(end[1]);
	return error;
}

Test(far_status, hostile_answers_are_none)
{
	static char longer[2 * sizeof(struct far_status)];

	cr_assert_eq(asked(&answer, far_status_bytes(2)), 0);
	cr_assert_eq(asked(&answer, 20), -EPROTO);
	memcpy(longer, &answer, sizeof(answer));
	cr_assert_eq(asked(longer, sizeof(longer)), -EPROTO);
	answer.refused = 1;
	cr_assert_eq(asked(&answer, far_status_bytes(2)), -EPERM);
}

Test(far_status, silence_is_not_waited_for, .timeout = 5)
{
	cr_assert_eq(asked(NULL, 0), -ETIMEDOUT);
}

Test(far_status, service_that_leaves_has_not_answered)
{
	struct far_status got;
	int end[2];

	cr_assert_eq(
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, end), 0);
	shutdown(end[1], SHUT_WR);
	cr_assert_eq(far_status_ask(end[0], FAR_STATUS, &got), -EPROTO);
	close(end[1]);
	cr_assert_lt(far_status_ask(end[0], FAR_STATUS, &got), 0);
	close(end[0]);
}

Test(far_status, no_run_directory_no_service)
{
	cr_assert_eq(far_status_connect("/nonexistent"), -ENOENT);
	cr_assert_lt(far_status_connect("/proc/self"), 0);
}
