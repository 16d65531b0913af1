/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * analyzer: what clang's analyzer cannot know, for "make tidy" only.
 *
 * It takes errno for any number, and knows nothing of the sign of -errno. So it
 * follows each `return -errno;` into a world where that is not an error and the
 * caller goes on with a value that was never set. Here errno is one of a few
 * numbers that calls fail with.
 */
#include <errno.h>

extern int analyzer_any(void);

static inline int *analyzer_errno(void)
{
	int *place = __errno_location();

	switch (analyzer_any()) {
	case 0:
		*place = EINTR;
		break;
	case 1:
		*place = EAGAIN;
		break;
	default:
		*place = EIO;
	}
	return place;
}

#undef errno
#define errno (*analyzer_errno())
