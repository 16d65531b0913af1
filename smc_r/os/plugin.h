/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * plugin: libraries that find the functions of libc before ours.
 *
 * dlopen(3) with RTLD_DEEPBIND lets a library look for its functions among its
 * own dependencies first, and libc is one of them. A preloaded library is never
 * asked, and what such a plugin does to a connection of ours nobody sees. So
 * after it was loaded, what leads from it to libc is led to us: pointers to
 * functions that we define, and only such as point to libc (or, of a library
 * that is bound at the first call, to nothing yet). Libraries that interpose on
 * libc themselves are never cut out: what points to them stays.
 *
 * Locking: none of ours. The dynamic linker's lock for its list of libraries is
 *          held while they are looked at, so none of them goes away; it is not
 *          the one that constructors run under.
 *
 * libc looks at the caller of dlopen(), so in all cases but RTLD_DEEPBIND we
 * jump to it, as if we were not there.
 */
#ifndef SMC_R_PLUGIN_H
#define SMC_R_PLUGIN_H

#include <stdbool.h>

/* Around a call that loads one, whatever comes of it. */
void plugin_before(void);
void plugin_after(void);

struct dl_phdr_info;

/* Is this library the one that these functions are in? */
bool plugin_is_us(const struct dl_phdr_info *info);

/* Would dlopen(file) find another library when we call it in place of the
 * function that `caller`, an address, lies in? */
bool plugin_needs_caller(const char *file, const void *caller);

#endif
