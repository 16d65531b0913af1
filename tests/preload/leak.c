/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * leak: runs a program and reports each system call on a connection that SMC
 * carries at that moment and that did not come from the library. Such a call
 * went past every wrapper: its bytes are lost to the ring, or it waits for
 * bytes that are in the ring.
 *
 *   leak [-v] COMMAND...	exit: that of COMMAND, 99 if there was a leak
 *
 * How: a seccomp filter hands the calls that can matter to this process, which
 * looks where each came from and lets it go on. A call came from the library
 * if the instruction, or the address to which the C library's wrapper will
 * return, lies in libsmc_r.so. That SMC carries a connection is read from the
 * status segments by the addresses of the socket.
 *
 * Needs: root or no_new_privs (set when not root), Linux 5.6 (pidfd_getfd),
 * and that ptrace of descendants is allowed. x86-64. About 20 us for each call.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "leak_origin.h"
#include "smc_r/connection/connection_ends.h"
#include "smc_r/status/status_connections.h"

#define LEAK_EXIT    99
#define POLL_FDS_MAX 1024

/*
 * The calls that are looked at, and which argument is the descriptor. Not those
 * that a wrapper may end with: a jump leaves no trace on the stack.
 */
struct watched {
	int number;
	int argument; /* -1: argument 0 points to pollfds, -2: fd sets */
	const char *name;
	bool sends;
};

static const struct watched calls[] = {
    {SYS_read, 0, "read", false},           {SYS_write, 0, "write", true},
    {SYS_readv, 0, "readv", false},         {SYS_writev, 0, "writev", true},
    {SYS_preadv2, 0, "preadv2", false},     {SYS_pwritev2, 0, "pwritev2", true},
    {SYS_recvfrom, 0, "recvfrom", false},   {SYS_sendto, 0, "sendto", true},
    {SYS_recvmsg, 0, "recvmsg", false},     {SYS_sendmsg, 0, "sendmsg", true},
    {SYS_recvmmsg, 0, "recvmmsg", false},   {SYS_sendmmsg, 0, "sendmmsg", true},
    {SYS_sendfile, 0, "sendfile", true},    {SYS_splice, 0, "splice", false},
    {SYS_epoll_ctl, 2, "epoll_ctl", false}, {SYS_poll, -1, "poll", false},
    {SYS_ppoll, -1, "ppoll", false},        {SYS_select, -2, "select", false},
    {SYS_pselect6, -2, "pselect6", false},
};

#define CALLS (sizeof(calls) / sizeof(*calls))

struct leak {
	int listener;
	bool verbose;
	unsigned long seen, on_connections, leaks;
	const char *rundir;
};

/* "Notify" for each watched call, "allow" for all others. */
static int filter_install(void)
{
	struct sock_filter code[CALLS + 4];
	struct sock_fprog program = {.filter = code};
	size_t n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(
	    BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < CALLS; i++, n++)
		code[n] = (struct sock_filter)BPF_JUMP(
		    BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i].number,
		    (unsigned char)(CALLS - i), 0);
	code[n++] =
	    (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
						 SECCOMP_RET_USER_NOTIF);
	program.len = (unsigned short)n;
	if (geteuid() && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			    SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

/* A copy of another process' descriptor, or a negative errno. */
static int take_fd(pid_t pid, int fd)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	int copy;

	if (pidfd < 0)
		return -errno;
	copy = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	if (copy < 0)
		copy = -errno;
	close(pidfd);
	return copy;
}

/* Both ends of a connection; IPv4 as ::ffff:a.b.c.d. */
struct question {
	struct in6_addr local, peer;
	uint16_t local_port, peer_port;
	bool sends;
	bool carried;
};

static bool address_of(const struct sockaddr_storage *s, struct in6_addr *a,
		       uint16_t *port)
{
	const struct sockaddr_in *in = (const void *)s;
	const struct sockaddr_in6 *in6 = (const void *)s;

	if (s->ss_family == AF_INET6) {
		*a = in6->sin6_addr;
		*port = ntohs(in6->sin6_port);
		return true;
	}
	memset(a, 0, sizeof(*a));
	a->s6_addr[10] = a->s6_addr[11] = 0xff;
	memcpy(&a->s6_addr[12], &in->sin_addr, sizeof(in->sin_addr));
	*port = ntohs(in->sin_port);
	return s->ss_family == AF_INET;
}

static bool question_of(struct question *q, int fd)
{
	struct sockaddr_storage here, there;
	socklen_t len = sizeof(here);

	q->carried = false;
	if (getsockname(fd, (struct sockaddr *)&here, &len))
		return false;
	len = sizeof(there);
	if (getpeername(fd, (struct sockaddr *)&there, &len))
		return false;
	return address_of(&here, &q->local, &q->local_port) &&
	       address_of(&there, &q->peer, &q->peer_port);
}

static int match(void *owner, const struct status_connection *c)
{
	struct question *q = owner;
	const struct status_slot *s = &c->slot;

	if (s->state != STATUS_ACTIVE || s->local_port != q->local_port ||
	    s->peer_port != q->peer_port ||
	    memcmp(&s->local, &q->local, sizeof(q->local)) ||
	    memcmp(&s->peer, &q->peer, sizeof(q->peer)))
		return 0;
	q->carried = q->sends ? !(s->tx.flags & STREAM_TCP)
			      : !(s->rx.flags & (STREAM_TCP | STREAM_FROZEN));
	return 1;
}

static pid_t process_of(pid_t tid)
{
	char path[64], line[256];
	pid_t pid = tid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %d", &pid) == 1)
			break;
	if (f)
		fclose(f);
	return pid;
}

/*
 * Does SMC carry this descriptor's bytes now, in the direction of the call? A
 * connection on its way back to TCP has left one direction before the other.
 */
static bool is_carried(const struct leak *l, pid_t tid, int fd, bool sends)
{
	struct question q = {.sends = sends};
	char path[64], target[64];
	ssize_t n;
	int copy;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", tid, fd);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 7 || strncmp(target, "socket:", 7))
		return false;
	copy = take_fd(process_of(tid), fd);
	if (copy < 0)
		return false;
	if (question_of(&q, copy))
		status_connections_each(l->rundir, match, &q);
	close(copy);
	return q.carried;
}

static void report(struct leak *l, const struct seccomp_notif *n,
		   const struct watched *w, int fd, const struct origin *o)
{
	char path[64], name[32] = "?";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)n->pid);
	f = fopen(path, "re");
	if (f && fgets(name, sizeof(name), f))
		name[strcspn(name, "\n")] = 0;
	if (f)
		fclose(f);
	l->leaks++;
	fprintf(stderr, "leak: %s(%d) in %s, thread %d, from %s\n", w->name, fd,
		name, (int)n->pid, o->text);
}

static void look_at_fd(struct leak *l, const struct seccomp_notif *n,
		       const struct watched *w, int fd, const struct origin *o)
{
	if (fd < 0 || !is_carried(l, (pid_t)n->pid, fd, w->sends))
		return;
	report(l, n, w, fd, o);
}

static void look_at_pollfds(struct leak *l, const struct seccomp_notif *n,
			    const struct watched *w, const struct origin *o)
{
	static struct pollfd fds[POLL_FDS_MAX];
	uint64_t count = n->data.args[1];

	if (count > POLL_FDS_MAX)
		count = POLL_FDS_MAX;
	if (!memory_read((pid_t)n->pid, n->data.args[0], fds,
			 count * sizeof(*fds)))
		return;
	for (uint64_t i = 0; i < count; i++)
		look_at_fd(l, n, w, fds[i].fd, o);
}

static void look_at_sets(struct leak *l, const struct seccomp_notif *n,
			 const struct watched *w, const struct origin *o)
{
	uint64_t count = n->data.args[0];

	if (count > FD_SETSIZE)
		count = FD_SETSIZE;
	for (int set = 1; set <= 3; set++) {
		fd_set fds;

		if (!n->data.args[set] ||
		    !memory_read((pid_t)n->pid, n->data.args[set], &fds,
				 (count + 7) / 8))
			continue;
		for (int fd = 0; fd < (int)count; fd++)
			if (FD_ISSET(fd, &fds))
				look_at_fd(l, n, w, fd, o);
	}
}

static void look(struct leak *l, const struct seccomp_notif *n)
{
	const struct watched *w = calls;
	struct origin o;

	while (w < calls + CALLS && w->number != n->data.nr)
		w++;
	if (w == calls + CALLS)
		return;
	l->seen++;
	origin_find(&o, (pid_t)n->pid, n->data.instruction_pointer);
	if (o.is_library) {
		l->on_connections++;
		return;
	}
	if (w->argument == -1)
		look_at_pollfds(l, n, w, &o);
	else if (w->argument == -2)
		look_at_sets(l, n, w, &o);
	else
		look_at_fd(l, n, w, (int)n->data.args[w->argument], &o);
}

/* Until nobody is left under the filter. */
static void serve(struct leak *l)
{
	struct seccomp_notif n;
	struct seccomp_notif_resp answer;
	struct pollfd p = {l->listener, POLLIN, 0};

	for (;;) {
		if (poll(&p, 1, -1) < 0 && errno == EINTR)
			continue;
		if (!(p.revents & POLLIN))
			return;
		memset(&n, 0, sizeof(n));
		if (ioctl(l->listener, SECCOMP_IOCTL_NOTIF_RECV, &n))
			continue;
		look(l, &n);
		memset(&answer, 0, sizeof(answer));
		answer.id = n.id;
		answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		ioctl(l->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
}

/* Shared with the child until it executes the program. */
struct meeting {
	_Atomic int listener; /* number in the child, -1 not yet */
	_Atomic int taken;
};

static void child(struct meeting *m, char **argv)
{
	int listener = filter_install();

	/* From here on no watched call before the parent has the listener. */
	m->listener = listener >= 0 ? listener : -1000 + listener;
	while (!m->taken)
		usleep(1000);
	close(listener);
	execvp(argv[0], argv);
	_exit(127);
}

static int take_listener(struct meeting *m, pid_t pid)
{
	int copy;

	while (m->listener == -1)
		usleep(1000);
	if (m->listener < 0) {
		errno = -(m->listener + 1000);
		perror("leak: seccomp");
		return -1;
	}
	copy = take_fd(pid, m->listener);
	if (copy < 0) {
		errno = -copy;
		perror("leak: pidfd_getfd");
	}
	m->taken = 1;
	return copy;
}

int main(int argc, char **argv)
{
	struct leak l = {.rundir = getenv("SMC_R_RUNDIR")};
	struct meeting *m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int at = 1, status = 0;
	pid_t pid;

	if (argc > 1 && !strcmp(argv[1], "-v")) {
		l.verbose = true;
		at = 2;
	}
	if (at >= argc || m == MAP_FAILED) {
		fprintf(stderr, "usage: leak [-v] COMMAND...\n");
		return 2;
	}
	if (!l.rundir)
		l.rundir = "/run/smc_r";
	m->listener = -1;
	pid = fork();
	if (!pid)
		child(m, argv + at);
	l.listener = pid > 0 ? take_listener(m, pid) : -1;
	if (l.listener < 0)
		return 2;
	serve(&l);
	waitpid(pid, &status, 0);
	if (l.verbose || l.leaks)
		fprintf(stderr,
			"leak: %lu calls seen, %lu from the library, %lu past "
			"it on connections that SMC carried\n",
			l.seen, l.on_connections, l.leaks);
	if (l.leaks)
		return LEAK_EXIT;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
