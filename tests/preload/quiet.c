/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * quiet: calls each function that the library defines on what is no connection
 * of its own: before there was a TCP socket, after one listened, connected and
 * accepted, and behind a filter. What is recorded (recorder.h) must be the same
 * with the library and without.
 *
 *   quiet names		the functions, one a line
 *   quiet play	PORT	calls them
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

#include "recorder.h"

#define HIGH 200 /* numbers that nobody has */

static int u[2], pipes[2], ep, inner, file, tcp, udp, unix_listener;
static char block[64];
static char *const no_environment[] = {NULL};
static char *const true_words[] = {(char *)(uintptr_t) "true", NULL};
static struct sockaddr_un name = {.sun_family = AF_UNIX};

#define P(x) ((long)(uintptr_t)(x))

static void feed(void)
{
	for (int i = 0; i < 8; i++)
		SYS_CALL3(SYS_write, u[1], block, sizeof(block));
}

static void drain(void)
{
	char bytes[4096];

	SYS_CALL6(SYS_recvfrom, u[0], bytes, sizeof(bytes), MSG_DONTWAIT, 0, 0);
	SYS_CALL6(SYS_recvfrom, u[1], bytes, sizeof(bytes), MSG_DONTWAIT, 0, 0);
	while (SYS_CALL3(SYS_read, pipes[0], bytes, sizeof(bytes)) > 0)
		;
}

static void call_vdprintf(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vdprintf(pipes[1], format, ap);
	va_end(ap);
}

int __dprintf_chk(int, int, const char *, ...);
int __vdprintf_chk(int, int, const char *, va_list);
int __open_2(const char *, int);
int __open64_2(const char *, int);
int __openat_2(int, const char *, int);
int __openat64_2(int, const char *, int);

static void call_vdprintf_chk(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	__vdprintf_chk(pipes[1], 1, format, ap);
	va_end(ap);
}

/* A child by any of them; what it does until it ends is recorded, too. */
#define IN_CHILD(make, body)                                                   \
	do {                                                                   \
		pid_t pid = make;                                              \
                                                                               \
		if (pid == 0) {                                                \
			body;                                                  \
			SYS_CALL3(SYS_exit_group, 0, 0, 0);                    \
		}                                                              \
		waitpid(pid, NULL, 0);                                         \
	} while (0)

static int first_function(void *unused)
{
	(void)unused;
	SYS_CALL3(SYS_exit_group, 0, 0, 0);
	return 0;
}

static void call_clone(int (*f)(int (*)(void *), void *, int, void *, ...))
{
	static char stack[65536] __attribute__((aligned(16)));

	waitpid(f(first_function, stack + sizeof(stack), SIGCHLD, NULL), NULL,
		0);
}

static void *thread(void *argument)
{
	return argument;
}

static int visitor(struct dl_phdr_info *info, size_t size, void *closure)
{
	(void)info;
	(void)size;
	(void)closure;
	return 0;
}

static void connect_unix(int flags)
{
	int client = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)connect(client, (struct sockaddr *)&name, sizeof(name));
	close(flags < 0 ? accept(unix_listener, NULL, NULL)
			: accept4(unix_listener, NULL, NULL, flags));
	close(client);
}

/* libc's second names for a function, some of which no header declares. */
#define SECOND(type, n) ((type *)(uintptr_t)dlsym(RTLD_DEFAULT, n))

typedef ssize_t reads(int, void *, size_t);
typedef ssize_t read_chk(int, void *, size_t, size_t);
typedef ssize_t recv_chk(int, void *, size_t, size_t, int);
typedef ssize_t recvfrom_chk(int, void *, size_t, size_t, int, void *, void *);
typedef ssize_t writes(int, const void *, size_t);
typedef ssize_t sends(int, const void *, size_t, int);
typedef int polls(struct pollfd *, nfds_t, int);
typedef int poll_chk(struct pollfd *, nfds_t, int, size_t);
typedef int ppoll_chk(struct pollfd *, nfds_t, const struct timespec *,
		      const sigset_t *, size_t);
typedef int selects(int, fd_set *, fd_set *, fd_set *, struct timeval *);
typedef int connects(int, const struct sockaddr *, socklen_t);
typedef int fcntls(int, int, ...);
typedef int dup2s(int, int);
typedef int closes(int);
typedef int clones(int (*)(void *), void *, int, void *, ...);
typedef int spawns(pid_t *, const char *, const posix_spawn_file_actions_t *,
		   const posix_spawnattr_t *, char *const[], char *const[]);

static struct iovec v = {block, 1};
static struct msghdr message = {.msg_iov = &v, .msg_iovlen = 1};
static struct mmsghdr messages = {.msg_hdr = {.msg_iov = &v, .msg_iovlen = 1}};
static struct epoll_event event = {.events = EPOLLIN};
static const struct timespec no_time;
static struct timeval now;
static sigset_t no_signals;
static struct pollfd polled[3];
static struct sockaddr_in nowhere = {.sin_family = AF_INET};
static struct sockaddr_storage room;
static socklen_t room_bytes = sizeof(int);
static struct rlimit limit;
static int one = 1;
static int program;

static fd_set *set(void)
{
	static fd_set s;

	FD_ZERO(&s);
	FD_SET(u[0], &s);
	return &s;
}

static void change_instances(void)
{
	epoll_ctl(ep, EPOLL_CTL_ADD, tcp, &event);
	epoll_ctl(ep, EPOLL_CTL_MOD, tcp, &event);
	epoll_ctl(ep, EPOLL_CTL_DEL, tcp, &event);
	epoll_ctl(ep, EPOLL_CTL_ADD, inner, &event);
	epoll_ctl(ep, EPOLL_CTL_DEL, inner, &event);
}

static void call_pidfd_getfd(void)
{
	int pidfd = (int)SYS_CALL3(SYS_pidfd_open, getpid(), 0, 0);

	close(pidfd_getfd(pidfd, u[0], 0));
	close(pidfd);
}

static void call_spawn(spawns *spawn, const char *path)
{
	pid_t pid;

	if (spawn(&pid, path, NULL, NULL, true_words, no_environment) == 0)
		waitpid(pid, NULL, 0);
}

/* It has what its parent had. */
static void child_works(void)
{
	epoll_wait(ep, &event, 1, 0);
	poll(polled, 3, 0);
	close(epoll_create1(0));
	close(tcp);
	close(ep);
}

static int pair[2];

static void close_both(int result)
{
	if (result == 0) {
		close(pair[0]);
		close(pair[1]);
	}
}

static void call_by_number(void)
{
	syscall(SYS_read, u[0], block, 1);
	syscall(SYS_poll, polled, 3, 0);
	syscall(SYS_select, u[0] + 1, set(), NULL, NULL, &now);
	syscall(SYS_epoll_wait, ep, &event, 1, 0);
	syscall(SYS_close, syscall(SYS_epoll_create, 1));
	syscall(SYS_close, syscall(SYS_dup, u[0]));
	syscall(SYS_prctl, PR_GET_NAME, block);
	syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL);
	syscall(SYS_getpeername, u[0], &room, &room_bytes);
	IN_CHILD((pid_t)syscall(SYS_fork), );
}

#define CASE_OF(n, ...)                                                        \
	static void do_##n(void)                                               \
	{                                                                      \
		__VA_ARGS__;                                                   \
	}

CASE_OF(read, (void)!read(u[0], block, 1))
CASE_OF(__read, SECOND(reads, "__read")(u[0], block, 1))
CASE_OF(__read_chk, SECOND(read_chk, "__read_chk")(u[0], block, 1, 64))
CASE_OF(readv, (void)!readv(u[0], &v, 1))
CASE_OF(recv, recv(u[0], block, 1, 0))
CASE_OF(__recv_chk, SECOND(recv_chk, "__recv_chk")(u[0], block, 1, 64, 0))
CASE_OF(recvfrom, recvfrom(u[0], block, 1, 0, NULL, NULL))
CASE_OF(__recvfrom_chk,
	SECOND(recvfrom_chk, "__recvfrom_chk")(u[0], block, 1, 64, 0, NULL,
					       NULL))
CASE_OF(recvmsg, (void)recvmsg(u[0], &message, 0))
CASE_OF(recvmmsg, recvmmsg(u[0], &messages, 1, 0, NULL))
CASE_OF(preadv2, (void)!preadv2(file, &v, 1, 0, 0))
CASE_OF(preadv64v2, (void)!preadv64v2(file, &v, 1, 0, 0))
CASE_OF(pwritev2, (void)!pwritev2(pipes[1], &v, 1, -1, 0))
CASE_OF(pwritev64v2, (void)!pwritev64v2(pipes[1], &v, 1, -1, 0))
CASE_OF(write, (void)!write(u[1], block, 1))
CASE_OF(__write, SECOND(writes, "__write")(u[1], block, 1))
CASE_OF(writev, (void)!writev(u[1], &v, 1))
CASE_OF(send, send(u[1], block, 1, 0))
CASE_OF(__send, SECOND(sends, "__send")(u[1], block, 1, 0))
CASE_OF(sendto, sendto(u[1], block, 1, 0, NULL, 0))
CASE_OF(sendmsg, sendmsg(u[1], &message, 0))
CASE_OF(sendmmsg, sendmmsg(u[1], &messages, 1, 0))
CASE_OF(sendfile, sendfile(pipes[1], file, NULL, 1))
CASE_OF(sendfile64, sendfile64(pipes[1], file, NULL, 1))
CASE_OF(splice, splice(u[0], NULL, pipes[1], NULL, 1, 0))
CASE_OF(dprintf, dprintf(pipes[1], "%d", 5))
CASE_OF(vdprintf, call_vdprintf("%d", 5))
CASE_OF(__dprintf_chk, __dprintf_chk(pipes[1], 1, "%d", 5))
CASE_OF(__vdprintf_chk, call_vdprintf_chk("%d", 5))
CASE_OF(poll, poll(polled, 3, 0))
CASE_OF(__poll, SECOND(polls, "__poll")(polled, 3, 0))
CASE_OF(__poll_chk,
	SECOND(poll_chk, "__poll_chk")(polled, 3, 0, sizeof(polled)))
CASE_OF(ppoll, ppoll(polled, 3, &no_time, &no_signals))
CASE_OF(__ppoll_chk, SECOND(ppoll_chk, "__ppoll_chk")(polled, 3, &no_time, NULL,
						      sizeof(polled)))
CASE_OF(select, select(u[0] + 1, set(), NULL, NULL, &now))
CASE_OF(__select,
	SECOND(selects, "__select")(u[0] + 1, set(), NULL, NULL, &now))
CASE_OF(pselect, pselect(u[0] + 1, set(), NULL, NULL, &no_time, &no_signals))
CASE_OF(epoll_create, close(epoll_create(1)))
CASE_OF(epoll_create1, close(epoll_create1(EPOLL_CLOEXEC)))
CASE_OF(epoll_ctl, change_instances())
CASE_OF(epoll_wait, epoll_wait(ep, &event, 1, 0))
CASE_OF(epoll_pwait, epoll_pwait(ep, &event, 1, 0, &no_signals))
CASE_OF(epoll_pwait2, epoll_pwait2(ep, &event, 1, &no_time, NULL))
CASE_OF(socket, close(socket(AF_UNIX, SOCK_DGRAM, 0));
	close(socket(AF_INET, SOCK_STREAM, 0)))
CASE_OF(listen, listen(unix_listener, 5))
CASE_OF(connect, connect_unix(0);
	(void)connect(udp, (struct sockaddr *)&nowhere, sizeof(nowhere)))
CASE_OF(__connect,
	SECOND(connects, "__connect")(udp, (struct sockaddr *)&nowhere,
				      sizeof(nowhere)))
CASE_OF(accept, connect_unix(-1))
CASE_OF(accept4, connect_unix(SOCK_NONBLOCK))
CASE_OF(shutdown, shutdown(udp, SHUT_RD))
CASE_OF(getpeername, getpeername(u[0], (struct sockaddr *)&room, &room_bytes))
CASE_OF(getsockopt, getsockopt(u[0], SOL_SOCKET, SO_ERROR, block, &room_bytes))
CASE_OF(setsockopt,
	setsockopt(tcp, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(tcp, SOL_SOCKET, SO_RCVBUF, &one, sizeof(one)))
CASE_OF(sockatmark, sockatmark(tcp))
CASE_OF(ioctl, ioctl(u[0], FIONREAD, &one))
CASE_OF(fcntl, fcntl(u[0], F_GETFL); fcntl(u[0], F_SETFL, O_RDWR);
	close(fcntl(u[0], F_DUPFD, HIGH));
	close(fcntl(tcp, F_DUPFD_CLOEXEC, HIGH)))
CASE_OF(fcntl64, fcntl64(u[0], F_GETFL))
CASE_OF(__fcntl, SECOND(fcntls, "__fcntl")(u[0], F_GETFL))
CASE_OF(dup, close(dup(u[0])); close(dup(ep)); close(dup(tcp)))
CASE_OF(dup2, dup2(u[0], HIGH); dup2(ep, HIGH); dup2(tcp, HIGH); close(HIGH))
CASE_OF(__dup2, SECOND(dup2s, "__dup2")(u[0], HIGH); close(HIGH))
CASE_OF(dup3, dup3(u[0], HIGH, O_CLOEXEC); close(HIGH))
CASE_OF(pidfd_getfd, call_pidfd_getfd())
CASE_OF(close, close(HIGH))
CASE_OF(__close, SECOND(closes, "__close")(HIGH))
CASE_OF(close_range, dup2(ep, HIGH);
	close_range(HIGH, HIGH + 5, CLOSE_RANGE_CLOEXEC);
	close_range(HIGH, HIGH + 5, 0))
CASE_OF(closefrom, IN_CHILD(fork(), closefrom(HIGH)))
CASE_OF(open, close(open("/dev/null", O_RDONLY)))
CASE_OF(open64, close(open64("/dev/null", O_RDONLY)))
CASE_OF(openat, close(openat(AT_FDCWD, "/dev/null", O_RDONLY)))
CASE_OF(openat64, close(openat64(AT_FDCWD, "/dev/null", O_RDONLY)))
CASE_OF(__open_2, close(__open_2("/dev/null", O_RDONLY)))
CASE_OF(__open64_2, close(__open64_2("/dev/null", O_RDONLY)))
CASE_OF(__openat_2, close(__openat_2(AT_FDCWD, "/dev/null", O_RDONLY)))
CASE_OF(__openat64_2, close(__openat64_2(AT_FDCWD, "/dev/null", O_RDONLY)))
CASE_OF(creat, close(creat("/dev/null", 0600)))
CASE_OF(creat64, close(creat64("/dev/null", 0600)))
CASE_OF(fopen, fclose(fopen("/dev/null", "r")))
CASE_OF(fopen64, fclose(fopen64("/dev/null", "r")))
CASE_OF(opendir, closedir(opendir("/")))
CASE_OF(pipe, close_both(pipe(pair)))
CASE_OF(pipe2, close_both(pipe2(pair, O_CLOEXEC)))
CASE_OF(socketpair, close_both(socketpair(AF_UNIX, SOCK_STREAM, 0, pair)))
CASE_OF(eventfd, close(eventfd(0, EFD_CLOEXEC)))
CASE_OF(timerfd_create, close(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)))
CASE_OF(signalfd, sigset_t none; sigemptyset(&none);
	close(signalfd(-1, &none, SFD_CLOEXEC)))
CASE_OF(memfd_create, close(memfd_create("quiet", MFD_CLOEXEC)))
CASE_OF(inotify_init, close(inotify_init()))
CASE_OF(inotify_init1, close(inotify_init1(IN_CLOEXEC)))
CASE_OF(fdopen, fclose(fdopen(dup(file), "r")))
CASE_OF(fclose, FILE *f = fopen("/dev/null", "w"); fputs("x", f); fclose(f))
CASE_OF(freopen, fclose(freopen("/dev/null", "r", fopen("/dev/null", "r"))))
CASE_OF(freopen64, fclose(freopen64("/dev/null", "r", fopen("/dev/null", "r"))))
CASE_OF(prctl, prctl(PR_GET_NAME, block);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL))
CASE_OF(setrlimit, getrlimit(RLIMIT_NOFILE, &limit);
	setrlimit(RLIMIT_NOFILE, &limit))
CASE_OF(setrlimit64, setrlimit64(RLIMIT_NOFILE, (struct rlimit64 *)&limit))
CASE_OF(prlimit, prlimit(0, RLIMIT_NOFILE, &limit, NULL))
CASE_OF(prlimit64, prlimit64(0, RLIMIT_NOFILE, NULL, (struct rlimit64 *)&limit))
CASE_OF(dlopen, dlclose(dlopen("libutil.so.1", RTLD_NOW)))
CASE_OF(dl_iterate_phdr, dl_iterate_phdr(visitor, NULL))
CASE_OF(backtrace_symbols_fd, void *at = visitor;
	backtrace_symbols_fd(&at, 1, pipes[1]))
CASE_OF(fork, IN_CHILD(fork(), child_works()))
CASE_OF(_Fork, IN_CHILD(_Fork(), child_works()))
CASE_OF(vfork, IN_CHILD(vfork(), ))
CASE_OF(clone, call_clone(clone))
CASE_OF(__clone, call_clone(SECOND(clones, "__clone")))
CASE_OF(execve,
	IN_CHILD(fork(), execve("/bin/true", true_words, no_environment)))
CASE_OF(execv, IN_CHILD(fork(), execv("/bin/true", true_words)))
CASE_OF(execvp, IN_CHILD(fork(), execvp("true", true_words)))
CASE_OF(execvpe, IN_CHILD(fork(), execvpe("true", true_words, no_environment)))
CASE_OF(execveat, IN_CHILD(fork(), execveat(AT_FDCWD, "/bin/true", true_words,
					    no_environment, 0)))
CASE_OF(fexecve, IN_CHILD(fork(), fexecve(program, true_words, no_environment)))
CASE_OF(execl, IN_CHILD(fork(), execl("/bin/true", "true", NULL)))
CASE_OF(execlp, IN_CHILD(fork(), execlp("true", "true", NULL)))
CASE_OF(execle,
	IN_CHILD(fork(), execle("/bin/true", "true", NULL, no_environment)))
CASE_OF(posix_spawn, call_spawn(posix_spawn, "/bin/true"))
CASE_OF(posix_spawnp, call_spawn(posix_spawnp, "true"))
CASE_OF(posix_spawn_file_actions_adddup2, posix_spawn_file_actions_t a;
	posix_spawn_file_actions_init(&a);
	posix_spawn_file_actions_adddup2(&a, file, HIGH);
	posix_spawn_file_actions_destroy(&a))
CASE_OF(system, (void)!system("exit 0"))
CASE_OF(popen, pclose(popen("exit 0", "r")))
CASE_OF(wordexp, wordexp_t w; wordexp("$(echo a)", &w, 0); wordfree(&w))
CASE_OF(syscall, call_by_number())

#define CASE(n)                                                                \
	{                                                                      \
#n, do_##n                                                     \
	}

static const struct {
	char name[RECORDER_PART];
	void (*run)(void);
} cases[] = {
    CASE(read),
    CASE(__read),
    CASE(__read_chk),
    CASE(readv),
    CASE(recv),
    CASE(__recv_chk),
    CASE(recvfrom),
    CASE(__recvfrom_chk),
    CASE(recvmsg),
    CASE(recvmmsg),
    CASE(preadv2),
    CASE(preadv64v2),
    CASE(pwritev2),
    CASE(pwritev64v2),
    CASE(write),
    CASE(__write),
    CASE(writev),
    CASE(send),
    CASE(__send),
    CASE(sendto),
    CASE(sendmsg),
    CASE(sendmmsg),
    CASE(sendfile),
    CASE(sendfile64),
    CASE(splice),
    CASE(dprintf),
    CASE(vdprintf),
    CASE(__dprintf_chk),
    CASE(__vdprintf_chk),
    CASE(poll),
    CASE(__poll),
    CASE(__poll_chk),
    CASE(ppoll),
    CASE(__ppoll_chk),
    CASE(select),
    CASE(__select),
    CASE(pselect),
    CASE(epoll_create),
    CASE(epoll_create1),
    CASE(epoll_ctl),
    CASE(epoll_wait),
    CASE(epoll_pwait),
    CASE(epoll_pwait2),
    CASE(socket),
    CASE(listen),
    CASE(connect),
    CASE(__connect),
    CASE(accept),
    CASE(accept4),
    CASE(shutdown),
    CASE(getpeername),
    CASE(getsockopt),
    CASE(setsockopt),
    CASE(sockatmark),
    CASE(ioctl),
    CASE(fcntl),
    CASE(fcntl64),
    CASE(__fcntl),
    CASE(dup),
    CASE(dup2),
    CASE(__dup2),
    CASE(dup3),
    CASE(pidfd_getfd),
    CASE(close),
    CASE(__close),
    CASE(close_range),
    CASE(closefrom),
    CASE(open),
    CASE(open64),
    CASE(openat),
    CASE(openat64),
    CASE(__open_2),
    CASE(__open64_2),
    CASE(__openat_2),
    CASE(__openat64_2),
    CASE(creat),
    CASE(creat64),
    CASE(fopen),
    CASE(fopen64),
    CASE(opendir),
    CASE(pipe),
    CASE(pipe2),
    CASE(socketpair),
    CASE(eventfd),
    CASE(timerfd_create),
    CASE(signalfd),
    CASE(memfd_create),
    CASE(inotify_init),
    CASE(inotify_init1),
    CASE(fdopen),
    CASE(fclose),
    CASE(freopen),
    CASE(freopen64),
    CASE(prctl),
    CASE(setrlimit),
    CASE(setrlimit64),
    CASE(prlimit),
    CASE(prlimit64),
    CASE(dlopen),
    CASE(dl_iterate_phdr),
    CASE(backtrace_symbols_fd),
    CASE(fork),
    CASE(_Fork),
    CASE(vfork),
    CASE(clone),
    CASE(__clone),
    CASE(execve),
    CASE(execv),
    CASE(execvp),
    CASE(execvpe),
    CASE(execveat),
    CASE(fexecve),
    CASE(execl),
    CASE(execlp),
    CASE(execle),
    CASE(posix_spawn),
    CASE(posix_spawnp),
    CASE(posix_spawn_file_actions_adddup2),
    CASE(system),
    CASE(popen),
    CASE(wordexp),
    CASE(syscall),
};

#define CASES (sizeof(cases) / sizeof(*cases))

static void play_all(void)
{
	for (size_t i = 0; i < CASES; i++) {
		pthread_t t;

		recorder_mark("-");
		drain();
		feed();
		polled[0] = (struct pollfd){u[0], POLLIN, 0};
		polled[1] = (struct pollfd){-1, POLLIN, 0};
		polled[2] = (struct pollfd){ep, POLLIN, 0};
		room_bytes = sizeof(int);
		recorder_mark(cases[i].name);
		cases[i].run();
		recorder_mark("-");
		/* From here on it has threads. */
		if (i == CASES - 1) {
			recorder_mark("pthread_create");
			pthread_create(&t, NULL, thread, NULL);
			recorder_mark("-");
			pthread_join(t, NULL);
		}
	}
}

/* What a listener ends with is recorded again. */
static void use_tcp(int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)port),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int client = socket(AF_INET, SOCK_STREAM, 0);
	int server;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (struct sockaddr *)&a, sizeof(a)) ||
	    listen(listener, 5) ||
	    connect(client, (struct sockaddr *)&a, sizeof(a)) ||
	    (server = accept(listener, NULL, NULL)) < 0)
		exit(1);
	recorder_mark("connection");
	(void)!write(client, block, 5);
	(void)!read(server, block, 5);
	close(dup(server));
	shutdown(client, SHUT_WR);
	close(client);
	close(server);
	recorder_mark("listener");
	dup2(listener, HIGH);
	close_range(HIGH, HIGH, 0);
	close(dup(listener));
	IN_CHILD(fork(), child_works());
	close(listener);
	recorder_mark("-");
}

static void confine(void)
{
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog f = {1, &all};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &f))
		exit(1);
}

/* Nothing that is executed is looked at, as where /etc/ld.so.preload names the
 * library. */
static void begin(void)
{
	unsetenv("LD_PRELOAD");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, u) || pipe2(pipes, O_NONBLOCK))
		exit(1);
	ep = epoll_create1(0);
	inner = epoll_create1(0);
	file = open("/etc/passwd", O_RDONLY);
	program = open("/bin/true", O_RDONLY | O_CLOEXEC);
	tcp = socket(AF_INET, SOCK_STREAM, 0);
	udp = socket(AF_INET, SOCK_DGRAM, 0);
	nowhere.sin_port = htons(9);
	nowhere.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	unix_listener = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "quiet.%d",
		 getpid());
	(void)bind(unix_listener, (struct sockaddr *)&name, sizeof(name));
	listen(unix_listener, 5);
	epoll_ctl(ep, EPOLL_CTL_ADD, u[0], &event);
}

int main(int argc, char **argv)
{
	recorder_mark("begin");
	if (argc == 2 && !strcmp(argv[1], "names")) {
		for (size_t i = 0; i < CASES; i++)
			puts(cases[i].name);
		return 0;
	}
	if (argc != 3 || strcmp(argv[1], "play") != 0) {
		fprintf(stderr, "usage: quiet names|play PORT\n");
		return 2;
	}
	begin();
	play_all();
	use_tcp(atoi(argv[2]));
	play_all();
	confine();
	play_all();
	recorder_mark("end");
	return 0;
}
