/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * untrusted_fd: accepting and closing what programs send.
 */
#include "ofed_core/base/untrusted_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "ofed_core/base/log.h"
#include "ofed_core/base/ofed_rundir.h"

#define CLOSERS_MAX 64

static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;
static int spare = -1; /* makes room for one that is refused */

int untrusted_fd_listen(const char *leaf, int type, int backlog)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int rc = ofed_rundir_path(a.sun_path, sizeof(a.sun_path), leaf);
	int fd;

	if (rc < 0)
		return rc;
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	unlink(a.sun_path);
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0 &&
	    chmod(a.sun_path, 0666) == 0 && listen(fd, backlog) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

int untrusted_fd_accept(int listener, int flags)
{
	int fd = accept4(listener, NULL, NULL, flags);
	int rc = fd < 0 ? -errno : fd;

	pthread_mutex_lock(&spare_lock);
	if (rc == -EMFILE && spare >= 0) {
		close(spare);
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			close(fd);
		spare = -1;
		log_warning("no descriptor is left: a program is refused");
	}
	if (spare < 0)
		spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	pthread_mutex_unlock(&spare_lock);
	return rc;
}

bool untrusted_fd_is_socket(int fd)
{
	socklen_t size = sizeof(int);
	int domain;

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
	       domain == AF_UNIX;
}

/* A message that waits in it may hold other descriptors. */
static bool is_empty(int fd)
{
	char byte;
	struct iovec v = {&byte, 1};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	ssize_t n = recvmsg(fd, &m, MSG_PEEK | MSG_DONTWAIT);

	return n < 0 || (n == 0 && !(m.msg_flags & MSG_CTRUNC));
}

static atomic_uint closers;

static void *close_main(void *argument)
{
	close((int)(intptr_t)argument);
	atomic_fetch_sub(&closers, 1);
	return NULL;
}

void untrusted_fd_close(int fd)
{
	pthread_attr_t a;
	pthread_t thread;

	if (untrusted_fd_is_socket(fd) && is_empty(fd)) {
		close(fd);
		return;
	}
	/* So many threads wait only by intent: the rest stays open. */
	if (atomic_fetch_add(&closers, 1) >= CLOSERS_MAX ||
	    pthread_attr_init(&a) != 0) {
		atomic_fetch_sub(&closers, 1);
		return;
	}
	pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&a, 65536);
	if (pthread_create(&thread, &a, close_main, (void *)(intptr_t)fd) != 0)
		atomic_fetch_sub(&closers, 1);
	pthread_attr_destroy(&a);
}
