/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * exec_check: would a program that is about to be executed have the engine?
 *
 * Only system calls: it is called between vfork and exec as well.
 *
 * Locking: none.
 *
 * An exec that passes a marked listener on asks, as the mark is a promise that
 * any acceptor has the engine; and so does one whose LD_PRELOAD names us.
 * What counts is what would name the library to the program's loader (the new
 * environment, and /etc/ld.so.preload as it is then), and whether the loader
 * finds it below the root directory of then. A program that can have the engine
 * gets it in its environment, with SMC_R_HEIR if it inherits a listener; for
 * another one the mark is removed.
 */
#ifndef SMC_R_EXEC_CHECK_H
#define SMC_R_EXEC_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/* What is given to one of the exec functions. */
struct exec_image {
	int dir; /* of a relative path, AT_FDCWD; path "": the file itself */
	const char *path;
	bool search; /* a name without a slash is looked for in PATH */
	char *const *env;
};

enum exec_engine {
	EXEC_NONE,  /* static, of another kind, with SMC_R=0, out of the
		     * library's sight, cannot tell */
	EXEC_LOADS, /* it comes by itself */
	EXEC_ASKED, /* it would, were it told by the environment */
};

/* At the start of the process: remembers which library we are. */
void exec_check_init(void);

enum exec_engine exec_check_engine(const struct exec_image *image);

/* Would its loader stumble over our name in LD_PRELOAD? That of another C
 * library dies of us; ours complains where, behind chroot, we are not. */
bool exec_check_is_misled(const struct exec_image *image);

/* Was this program executed by one that had a marked listener to hand on? */
bool exec_check_inherits_listeners(void);

enum exec_words {
	EXEC_AS_IS,
	EXEC_TOLD,       /* that it inherits a marked listener */
	EXEC_WITH_US,    /* the same, our library first in LD_PRELOAD, our run
			  * directory */
	EXEC_WITHOUT_US, /* not in LD_PRELOAD */
};

/* A copy of env that says so, not as it is; how much memory it takes, aligned
 * as a pointer. */
size_t exec_check_environment_bytes(char *const *env);
char *const *exec_check_environment(enum exec_words words, char *const *env,
				    void *memory);

#endif
