/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * shim_descriptors: the interposed calls that take a descriptor.
 *
 * A number that is not ours costs one table load.
 */
#undef _FORTIFY_SOURCE
#include "ofed_core/shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

SHIM_EXPORT ssize_t write(int fd, const void *bytes, size_t count)
{
	switch (shim_fd_kind(fd)) {
	case SHIM_FD_UVERBS:
		return shim_uverbs_write(fd, bytes, count);
	case SHIM_FD_CM:
		return shim_cm_write(fd, bytes, count);
	case SHIM_FD_NETLINK:
	case SHIM_FD_CHANNEL:
	case SHIM_FD_NONE:
		break;
	}
	return SHIM_NEXT(write)(fd, bytes, count);
}

SHIM_EXPORT ssize_t read(int fd, void *bytes, size_t count)
{
	if (shim_fd_kind(fd) == SHIM_FD_CHANNEL)
		return shim_event_read(fd, bytes, count);
	return SHIM_NEXT(read)(fd, bytes, count);
}

/* The write() interface is the one served; libibverbs falls back to it. */
SHIM_EXPORT int ioctl(int fd, unsigned long request, ...)
{
	enum shim_fd_kind kind = shim_fd_kind(fd);
	va_list a;
	void *argument;

	va_start(a, request);
	argument = va_arg(a, void *);
	va_end(a);
	if (kind == SHIM_FD_UVERBS || kind == SHIM_FD_CM) {
		errno = ENOTTY;
		return -1;
	}
	return SHIM_NEXT(ioctl)(fd, request, argument);
}

static void *map_ring(int fd, void *address, size_t size, int protection,
		      int flags, uint64_t offset)
{
	struct shim_request r = {.kind = SHIM_MAP, .offset = offset};
	struct shim_answer answer;
	void *p;
	int rc = shim_call(fd, &r, NULL, -1, &answer);

	if (rc == 0)
		rc = answer.result;
	if (rc == 0 && answer.fd < 0)
		rc = -EIO;
	if (rc < 0) {
		errno = -rc;
		return MAP_FAILED;
	}
	p = SHIM_NEXT(mmap)(address, size, protection, flags, answer.fd, 0);
	SHIM_NEXT(close)(answer.fd);
	if (p != MAP_FAILED)
		shim_ring_mapped(fd, offset, p);
	return p;
}

/*
 * UCX and Open MPI ask dlsym() for mmap, write a jump into the code that they
 * are given, and make system calls of their own from there: no ring could be
 * mapped any more. A version that is not the default one is invisible to
 * dlsym(), which then gives them libc's function, but serves programs that
 * were linked with that version of libc's.
 */
#ifdef __x86_64__
#define LIBC_VERSION(name)                                                     \
	__asm__(".symver shim_" #name ", " #name "@GLIBC_2.2.5")
#else
#define LIBC_VERSION(name)                                                     \
	__asm__(".globl " #name "\n\t.set " #name ", shim_" #name)
#endif

#define DEFINE_MMAP(name, type)                                                \
	void *shim_##name(void *address, size_t size, int protection,          \
			  int flags, int fd, type offset);                     \
	LIBC_VERSION(name);                                                    \
	SHIM_EXPORT void *shim_##name(void *address, size_t size,              \
				      int protection, int flags, int fd,       \
				      type offset)                             \
	{                                                                      \
		if (fd >= 0 && shim_fd_kind(fd) == SHIM_FD_UVERBS)             \
			return map_ring(fd, address, size, protection, flags,  \
					(uint64_t)offset);                     \
		return SHIM_NEXT(name)(address, size, protection, flags, fd,   \
				       offset);                                \
	}
DEFINE_MMAP(mmap, off_t)
DEFINE_MMAP(mmap64, off64_t)

SHIM_EXPORT int close(int fd)
{
	if (shim_fd_kind(fd) == SHIM_FD_UVERBS && !shim_memory_is_borrowed())
		shim_ring_remove_all(fd);
	shim_fd_clear(fd);
	return SHIM_NEXT(close)(fd);
}

SHIM_EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	int rc = SHIM_NEXT(close_range)(first, last, flags);

	if (rc == 0 && !(flags & CLOSE_RANGE_CLOEXEC))
		shim_fd_clear_range(first, last);
	return rc;
}

/* Calls that make another descriptor of the same file. */
#define DEFINE_DUP(name, parameters, ...)                                      \
	SHIM_EXPORT int name parameters                                        \
	{                                                                      \
		int copy = SHIM_NEXT(name)(__VA_ARGS__);                       \
                                                                               \
		if (copy >= 0)                                                 \
			shim_fd_copy(copy, fd);                                \
		return copy;                                                   \
	}
DEFINE_DUP(dup, (int fd), fd)
DEFINE_DUP(dup2, (int fd, int to), fd, to)
DEFINE_DUP(dup3, (int fd, int to, int flags), fd, to, flags)

#define DEFINE_FCNTL(name)                                                     \
	SHIM_EXPORT int name(int fd, int command, ...)                         \
	{                                                                      \
		va_list a;                                                     \
		void *argument;                                                \
		int rc;                                                        \
                                                                               \
		va_start(a, command);                                          \
		argument = va_arg(a, void *);                                  \
		va_end(a);                                                     \
		rc = SHIM_NEXT(name)(fd, command, argument);                   \
		if (rc >= 0 &&                                                 \
		    (command == F_DUPFD || command == F_DUPFD_CLOEXEC))        \
			shim_fd_copy(rc, fd);                                  \
		return rc;                                                     \
	}
DEFINE_FCNTL(fcntl)
DEFINE_FCNTL(fcntl64)

SHIM_EXPORT int socket(int domain, int type, int protocol)
{
	if (domain == AF_NETLINK && protocol == NETLINK_RDMA)
		return shim_netlink_open(type, protocol);
	return SHIM_NEXT(socket)(domain, type, protocol);
}

SHIM_EXPORT int bind(int fd, const struct sockaddr *address, socklen_t size)
{
	if (shim_fd_kind(fd) == SHIM_FD_NETLINK)
		return 0;
	return SHIM_NEXT(bind)(fd, address, size);
}

SHIM_EXPORT int connect(int fd, const struct sockaddr *address, socklen_t size)
{
	if (shim_fd_kind(fd) == SHIM_FD_NETLINK)
		return 0;
	return SHIM_NEXT(connect)(fd, address, size);
}

SHIM_EXPORT int setsockopt(int fd, int level, int option, const void *value,
			   socklen_t size)
{
	if (shim_fd_kind(fd) == SHIM_FD_NETLINK && level != SOL_SOCKET)
		return 0;
	return SHIM_NEXT(setsockopt)(fd, level, option, value, size);
}

static void netlink_name(void *address, socklen_t *size, bool is_kernel)
{
	struct sockaddr_nl name = {.nl_family = AF_NETLINK};
	size_t n = sizeof(name);

	if (!is_kernel)
		name.nl_pid = (uint32_t)getpid();
	if (*size < n)
		n = *size;
	memcpy(address, &name, n);
	*size = sizeof(name);
}

SHIM_EXPORT int getsockname(int fd, struct sockaddr *restrict address,
			    socklen_t *restrict size)
{
	if (shim_fd_kind(fd) != SHIM_FD_NETLINK)
		return SHIM_NEXT(getsockname)(fd, address, size);
	netlink_name(address, size, false);
	return 0;
}

SHIM_EXPORT ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	unsigned char request[4096];
	size_t n = 0;

	if (shim_fd_kind(fd) != SHIM_FD_NETLINK)
		return SHIM_NEXT(sendmsg)(fd, m, flags);
	for (size_t i = 0; i < m->msg_iovlen; i++) {
		if (m->msg_iov[i].iov_len > sizeof(request) - n) {
			errno = EMSGSIZE;
			return -1;
		}
		memcpy(request + n, m->msg_iov[i].iov_base,
		       m->msg_iov[i].iov_len);
		n += m->msg_iov[i].iov_len;
	}
	return shim_netlink_send(fd, request, n);
}

SHIM_EXPORT ssize_t sendto(int fd, const void *bytes, size_t count, int flags,
			   const struct sockaddr *to, socklen_t size)
{
	if (shim_fd_kind(fd) == SHIM_FD_NETLINK)
		return shim_netlink_send(fd, bytes, count);
	return SHIM_NEXT(sendto)(fd, bytes, count, flags, to, size);
}

SHIM_EXPORT ssize_t send(int fd, const void *bytes, size_t count, int flags)
{
	if (shim_fd_kind(fd) == SHIM_FD_NETLINK)
		return shim_netlink_send(fd, bytes, count);
	return SHIM_NEXT(send)(fd, bytes, count, flags);
}

SHIM_EXPORT ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	void *name = m->msg_name;
	socklen_t size = m->msg_namelen;
	ssize_t n;

	if (shim_fd_kind(fd) != SHIM_FD_NETLINK)
		return SHIM_NEXT(recvmsg)(fd, m, flags);
	m->msg_name = NULL;
	m->msg_namelen = 0;
	n = SHIM_NEXT(recvmsg)(fd, m, flags);
	m->msg_name = name;
	m->msg_namelen = size;
	if (n >= 0 && name)
		netlink_name(name, &m->msg_namelen, true);
	return n;
}

SHIM_EXPORT ssize_t recvfrom(int fd, void *restrict bytes, size_t count,
			     int flags, struct sockaddr *restrict from,
			     socklen_t *restrict size)
{
	ssize_t n;

	if (shim_fd_kind(fd) != SHIM_FD_NETLINK)
		return SHIM_NEXT(recvfrom)(fd, bytes, count, flags, from, size);
	n = SHIM_NEXT(recvfrom)(fd, bytes, count, flags, NULL, NULL);
	if (n >= 0 && from)
		netlink_name(from, size, true);
	return n;
}
