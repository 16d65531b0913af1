/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* account: what the BPF program keeps of this user. */
#include "smc_r/status/account.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "smc_r/os/option_instance.h"
#include "smc_r/os/sys.h"

static uint32_t instance; /* 0: none, nothing to ask */
static int at_hand = -1;

int account_init(const char *rundir)
{
	return option_instance(rundir, &instance);
}

void account_use(int socket)
{
	at_hand = socket;
}

/* The cheapest one: the BPF program looks at the asker only. */
static int take_socket(void)
{
	if (!instance)
		return -EOPNOTSUPP;
	if (at_hand >= 0)
		return at_hand;
	return (int)SYS_CALL3(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC,
			      0);
}

static void leave_socket(int fd)
{
	if (fd != at_hand)
		sys_close(fd);
}

/* The kernel knows no such option, whatever it calls that. */
static int without_bpf(int error)
{
	return error == -ENOPROTOOPT || error == -EOPNOTSUPP ? -EOPNOTSUPP
							     : error;
}

int account_read(struct option_account *out)
{
	socklen_t length = sizeof(*out);
	int fd = take_socket();
	int error;

	if (fd < 0)
		return fd;
	memset(out, 0, sizeof(*out));
	error = (int)SYS_CALL6(SYS_getsockopt, fd, OPTION_LEVEL, instance, out,
			       &length, 0);
	leave_socket(fd);
	if (!error &&
	    (length != sizeof(*out) || out->answer != OPTION_ANSWER ||
	     out->directory >> OPTION_DIRECTORY_BITS || out->share == 0))
		error = -EOPNOTSUPP;
	return without_bpf(error);
}

static int set(const void *value, socklen_t length)
{
	int fd = take_socket();
	int error;

	if (fd < 0)
		return fd;
	error = (int)SYS_CALL6(SYS_setsockopt, fd, OPTION_LEVEL, instance,
			       value, length, 0);
	leave_socket(fd);
	return without_bpf(error);
}

int account_name(uint32_t before, uint32_t after)
{
	struct option_account_name n = {.before = before, .after = after};

	return set(&n, sizeof(n));
}

int account_hold(uint32_t directory, uint64_t bytes, uint64_t limit)
{
	struct option_account_bytes b = {
	    .bytes = bytes, .limit = limit, .directory = directory};

	return set(&b, sizeof(b));
}
