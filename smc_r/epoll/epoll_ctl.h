/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* epoll_ctl: the program changes what its instances wait for. */
#ifndef SMC_R_EPOLL_CTL_H
#define SMC_R_EPOLL_CTL_H

#include <sys/epoll.h>

/* epoll_ctl of the program; libc's result with errno. */
int epoll_control(int ep, int op, int fd, struct epoll_event *event);

#endif
