/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_trace: the vendor-specific attributes of an interface adapter of uDAPL,
 * and its trace levels, changed while the program runs.
 *
 * build:	cc -o dat_trace dat_trace.c -ldat2
 * usage:	dat_trace ADAPTER [DAT-LEVEL DAPL-LEVEL]
 */
#include <dat2/udat.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS 8

typedef DAT_RETURN query_function(DAT_UINT32 *dat, DAT_UINT32 *dapl);
typedef DAT_RETURN modify_function(DAT_UINT32 dat, DAT_UINT32 dapl);

static int fail(const char *what, DAT_RETURN result)
{
	const char *major = "?", *minor = "";

	dat_strerror(result, &major, &minor);
	fprintf(stderr, "dat_trace: %s: %s %s\n", what, major, minor);
	return 1;
}

static const char *find(const DAT_IA_ATTR *a, const char *name)
{
	for (DAT_COUNT i = 0; i < a->num_vendor_attr; i++)
		if (strcmp(a->vendor_attr[i].name, name) == 0)
			return a->vendor_attr[i].value;
	return NULL;
}

/* Values that point to functions are no text. */
static void print_attributes(const DAT_IA_ATTR *a)
{
	for (DAT_COUNT i = 0; i < a->num_vendor_attr; i++) {
		const DAT_NAMED_ATTR *n = &a->vendor_attr[i];

		printf("%s %s\n", n->name,
		       strncmp(n->name, "debug_", 6) == 0 ? "function"
							  : n->value);
	}
}

static int change_levels(const DAT_IA_ATTR *a, char **levels)
{
	query_function *query =
	    (query_function *)(uintptr_t)find(a, "debug_query");
	modify_function *modify =
	    (modify_function *)(uintptr_t)find(a, "debug_modify");
	DAT_UINT32 dat, dapl;
	DAT_RETURN result;

	if (!find(a, "vendor_extension") || !query || !modify) {
		fprintf(stderr, "dat_trace: the levels cannot be changed\n");
		return 1;
	}
	if (levels) {
		result = modify((DAT_UINT32)strtoul(levels[0], NULL, 10),
				(DAT_UINT32)strtoul(levels[1], NULL, 10));
		if (result != DAT_SUCCESS)
			return fail("dat_trclvl_modify", result);
	}
	result = query(&dat, &dapl);
	if (result != DAT_SUCCESS)
		return fail("dat_trclvl_query", result);
	printf("DAT level %u, DAPL level %u\n", dat, dapl);
	return 0;
}

/* A program that asks whether a call is there gets DAT_NOT_IMPLEMENTED. */
static void try_unsupported(DAT_IA_HANDLE ia)
{
	DAT_RETURN result = dat_lmr_sync_rdma_read(ia, NULL, 0);

	printf("dat_lmr_sync_rdma_read: %s\n",
	       DAT_GET_TYPE(result) == DAT_NOT_IMPLEMENTED
		   ? "DAT_NOT_IMPLEMENTED"
		   : "implemented");
}

int main(int argc, char **argv)
{
	DAT_EVD_HANDLE events = DAT_HANDLE_NULL;
	DAT_IA_ATTR attributes;
	DAT_RETURN result;
	DAT_IA_HANDLE ia;
	int status;

	if (argc != 2 && argc != 4) {
		fprintf(stderr, "usage: dat_trace ADAPTER [DAT-LEVEL "
				"DAPL-LEVEL]\n");
		return 2;
	}
	result = dat_ia_open(argv[1], EVENTS, &events, &ia);
	if (result != DAT_SUCCESS)
		return fail("dat_ia_open", result);
	memset(&attributes, 0, sizeof(attributes));
	result =
	    dat_ia_query(ia, &events, DAT_IA_FIELD_ALL, &attributes, 0, NULL);
	if (result == DAT_SUCCESS) {
		print_attributes(&attributes);
		status =
		    change_levels(&attributes, argc == 4 ? argv + 2 : NULL);
		try_unsupported(ia);
	} else {
		status = fail("dat_ia_query", result);
	}
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	return status;
}
