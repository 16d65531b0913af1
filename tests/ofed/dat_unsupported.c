/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_unsupported: prints the calls of uDAPL that AIX does not have and that
 * do not answer DAT_NOT_IMPLEMENTED, and how many do.
 *
 * libdat2 hands a call to the provider that a handle's first word leads to, so
 * an endpoint stands in for handles that cannot be made.
 */
#include <dat2/udat.h>
#include <stdio.h>
#include <stdlib.h>

static int missing;

static void expect(const char *name, DAT_RETURN result)
{
	if (DAT_GET_TYPE(result) == DAT_NOT_IMPLEMENTED)
		missing++;
	else
		printf("%s: %#x\n", name, result);
}

static void need(const char *name, DAT_RETURN result)
{
	if (result == DAT_SUCCESS)
		return;
	fprintf(stderr, "dat_unsupported: %s: %#x\n", name, result);
	exit(2);
}

static void try_all(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE evd,
		    DAT_EP_HANDLE ep)
{
	DAT_SRQ_ATTR attributes = {.max_recv_dtos = 4, .max_recv_iov = 1};
	DAT_LMR_TRIPLET segment = {.segment_length = 0};
	DAT_DTO_COOKIE cookie = {.as_64 = 0};
	DAT_COUNT count, span;
	DAT_SRQ_PARAM param;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE other;

	expect("dat_cr_handoff", dat_cr_handoff(ep, 1));
	expect("dat_ep_create_with_srq",
	       dat_ep_create_with_srq(ia, pz, evd, evd, evd, ep, NULL, &other));
	expect("dat_ep_recv_query", dat_ep_recv_query(ep, &count, &span));
	expect("dat_ep_set_watermark", dat_ep_set_watermark(ep, 1, 2));
	expect("dat_srq_create", dat_srq_create(ia, pz, &attributes, &srq));
	expect("dat_srq_post_recv", dat_srq_post_recv(ep, 1, &segment, cookie));
	expect("dat_srq_resize", dat_srq_resize(ep, 8));
	expect("dat_srq_set_lw", dat_srq_set_lw(ep, 1));
	expect("dat_srq_query", dat_srq_query(ep, DAT_SRQ_FIELD_ALL, &param));
	expect("dat_srq_free", dat_srq_free(ep));
	expect("dat_lmr_sync_rdma_read",
	       dat_lmr_sync_rdma_read(ia, &segment, 1));
	expect("dat_lmr_sync_rdma_write",
	       dat_lmr_sync_rdma_write(ia, &segment, 1));
}

int main(int argc, char **argv)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, connections, evd;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;

	if (argc != 2)
		return 2;
	need("dat_ia_open", dat_ia_open(argv[1], 8, &async, &ia));
	need("dat_pz_create", dat_pz_create(ia, &pz));
	need("dat_evd_create",
	     dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd));
	need("dat_evd_create",
	     dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
			    &connections));
	need("dat_ep_create",
	     dat_ep_create(ia, pz, evd, evd, connections, NULL, &ep));
	try_all(ia, pz, evd, ep);
	printf("%d not implemented\n", missing);
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	return 0;
}
