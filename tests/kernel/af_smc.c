/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * af_smc: programs of the guest use the kernel's SMC-R: a TCP socket that they
 * ask for is one of AF_SMC.
 */
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>

#ifndef AF_SMC
#define AF_SMC 43
#endif
#define SMCPROTO_SMC  0
#define SMCPROTO_SMC6 1

#define EXPORT __attribute__((visibility("default")))

EXPORT int socket(int domain, int type, int protocol)
{
	int (*next)(int, int, int) =
	    (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
	int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);

	if ((domain == AF_INET || domain == AF_INET6) && kind == SOCK_STREAM &&
	    (protocol == 0 || protocol == IPPROTO_TCP)) {
		protocol = domain == AF_INET6 ? SMCPROTO_SMC6 : SMCPROTO_SMC;
		domain = AF_SMC;
	}
	return next(domain, type, protocol);
}
