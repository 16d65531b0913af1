/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * raw_ring: a server that enters the kernel by instructions of its own, as one
 * with a static liburing does, but for socket, bind and listen.
 *
 *   raw_ring PORT COUNT	answers so many lines, each with "got LINE"
 *
 * Exit: 77 where we know no such instructions.
 */
#include <arpa/inet.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#ifdef __x86_64__
static long enter3(long number, long a, long b, long c)
{
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
}

/* Its number is an immediate, as in liburing. Where the kernel allows no rings
 * the rest is the same. */
static void set_up_ring(void)
{
	struct io_uring_params p = {0};
	long result;

	__asm__ volatile("movl %1, %%eax\n\tsyscall"
			 : "=&a"(result)
			 : "i"(SYS_io_uring_setup), "D"(4), "S"(&p)
			 : "rcx", "r11", "memory");
}

static int answer(int fd)
{
	char line[200] = "got ";
	long n = enter3(SYS_read, fd, (long)(line + 4), sizeof(line) - 4);

	if (n <= 0 || enter3(SYS_write, fd, (long)line, n + 4) != n + 4)
		return 1;
	return enter3(SYS_close, fd, 0, 0) != 0;
}

static int serve(int port, int count)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int one = 1;

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 8)) {
		perror("raw_ring");
		return 1;
	}
	set_up_ring();
	for (int i = 0; i < count; i++)
		if (answer((int)enter3(SYS_accept, fd, 0, 0)))
			return 1;
	return 0;
}
#endif

int main(int argc, char **argv)
{
#ifdef __x86_64__
	return argc == 3 ? serve(atoi(argv[1]), atoi(argv[2])) : 2;
#else
	(void)argc;
	(void)argv;
	return 77;
#endif
}
