/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_provider: the provider of uDAPL that dat.conf names: Debian's provider
 * over librdmacm, with the attributes, trace levels and answers of AIX.
 *
 * libdat2 loads this library and calls dat_provider_init(), which loads
 * Debian's and lets it register itself. The table of functions that it
 * registers is what every handle leads to, so some places of it get functions
 * of this file.
 *
 * Locking: libdat2's, while it loads and unloads providers.
 */
#include <dat2/udat.h>

/* These take what they need from it. */
#include <dat2/dat_registry.h>
#include <dat2/udat_redirection.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "ofed_core/dapl/dapl_import.h"
#include "ofed_core/dapl/dapl_trace.h"

#define STOCK    "libdaplofa.so.2"
#define EXPORTED __attribute__((visibility("default")))

EXPORTED void dat_provider_init(const DAT_PROVIDER_INFO *info,
				const char *instance);
EXPORTED void dat_provider_fini(const DAT_PROVIDER_INFO *info);

static void *stock; /* of dlopen() */
static struct dat_provider original;

/* The parameters are those of DAT. */
/* NOLINTBEGIN(readability-function-size) */

/* ---- Calls that are shown ----------------------------------------------- */

#define TRACED(name, parameters, arguments)                                    \
	static DAT_RETURN name parameters                                      \
	{                                                                      \
		dapl_trace_call("dat_" #name);                                 \
		return dapl_trace_end("dat_" #name,                            \
				      original.name##_func arguments);         \
	}

TRACED(ia_open,
       (const DAT_NAME_PTR name, DAT_COUNT length, DAT_EVD_HANDLE *evd,
	DAT_IA_HANDLE *ia),
       (name, length, evd, ia))
TRACED(ia_close, (DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags), (ia, flags))
TRACED(evd_create,
       (DAT_IA_HANDLE ia, DAT_COUNT length, DAT_CNO_HANDLE cno,
	DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd),
       (ia, length, cno, flags, evd))
TRACED(ep_create,
       (DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE in,
	DAT_EVD_HANDLE out, DAT_EVD_HANDLE connections,
	const DAT_EP_ATTR *attributes, DAT_EP_HANDLE *ep),
       (ia, pz, in, out, connections, attributes, ep))
TRACED(ep_connect,
       (DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR address, DAT_CONN_QUAL port,
	DAT_TIMEOUT timeout, DAT_COUNT size, const DAT_PVOID data, DAT_QOS qos,
	DAT_CONNECT_FLAGS flags),
       (ep, address, port, timeout, size, data, qos, flags))
TRACED(ep_disconnect, (DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags), (ep, flags))
TRACED(ep_free, (DAT_EP_HANDLE ep), (ep))
TRACED(psp_create,
       (DAT_IA_HANDLE ia, DAT_CONN_QUAL port, DAT_EVD_HANDLE evd,
	DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp),
       (ia, port, evd, flags, psp))
TRACED(cr_accept,
       (DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, DAT_COUNT size,
	const DAT_PVOID data),
       (cr, ep, size, data))
TRACED(cr_reject, (DAT_CR_HANDLE cr, DAT_COUNT size, const DAT_PVOID data),
       (cr, size, data))

/* ---- Attributes --------------------------------------------------------- */

/* AIX has the address of a function as the value. */
static const DAT_NAMED_ATTR vendor_attributes[] = {
    {"delayed_ack_supported", "false"},
    {"vendor_extension", "1.0"},
    {"vendor_ext_version", "1.0"},
    {"debug_query", (const char *)dat_trclvl_query},
    {"debug_modify", (const char *)dat_trclvl_modify},
};
#define VENDOR_ATTRIBUTES                                                      \
	((DAT_COUNT)(sizeof(vendor_attributes) / sizeof(*vendor_attributes)))

static DAT_RETURN ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *evd,
			   DAT_IA_ATTR_MASK mask, DAT_IA_ATTR *attributes,
			   DAT_PROVIDER_ATTR_MASK provider_mask,
			   DAT_PROVIDER_ATTR *provider)
{
	DAT_RETURN result;

	dapl_trace_call("dat_ia_query");
	result = original.ia_query_func(ia, evd, mask, attributes,
					provider_mask, provider);
	if (result == DAT_SUCCESS && mask && attributes) {
		attributes->num_vendor_attr = VENDOR_ATTRIBUTES;
		attributes->vendor_attr =
		    (DAT_NAMED_ATTR *)(uintptr_t)vendor_attributes;
		attributes->max_srqs = 0;
	}
	return dapl_trace_end("dat_ia_query", result);
}

/* ---- Calls that AIX does not have --------------------------------------- */

#define MISSING(name, ...)                                                     \
	static DAT_RETURN name(__VA_ARGS__)                                    \
	{                                                                      \
		dapl_trace_call("dat_" #name);                                 \
		return dapl_trace_end("dat_" #name,                            \
				      DAT_CLASS_ERROR | DAT_NOT_IMPLEMENTED);  \
	}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
MISSING(cr_handoff, DAT_CR_HANDLE cr, DAT_CONN_QUAL port)
MISSING(ep_create_with_srq, DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
	DAT_EVD_HANDLE in, DAT_EVD_HANDLE out, DAT_EVD_HANDLE connections,
	DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attributes, DAT_EP_HANDLE *ep)
MISSING(ep_recv_query, DAT_EP_HANDLE ep, DAT_COUNT *count, DAT_COUNT *span)
MISSING(ep_set_watermark, DAT_EP_HANDLE ep, DAT_COUNT soft, DAT_COUNT hard)
MISSING(srq_create, DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
	DAT_SRQ_ATTR *attributes, DAT_SRQ_HANDLE *srq)
MISSING(srq_post_recv, DAT_SRQ_HANDLE srq, DAT_COUNT count,
	DAT_LMR_TRIPLET *segments, DAT_DTO_COOKIE cookie)
MISSING(srq_resize, DAT_SRQ_HANDLE srq, DAT_COUNT length)
MISSING(srq_set_lw, DAT_SRQ_HANDLE srq, DAT_COUNT mark)
MISSING(srq_free, DAT_SRQ_HANDLE srq)
MISSING(srq_query, DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask,
	DAT_SRQ_PARAM *out)
MISSING(lmr_sync_rdma_read, DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments,
	DAT_VLEN count)
MISSING(lmr_sync_rdma_write, DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments,
	DAT_VLEN count)
#pragma GCC diagnostic pop

/* NOLINTEND(readability-function-size) */

/* ---- Registration ------------------------------------------------------- */

#define TAKE(name) provider->name##_func = name

static void take_calls(struct dat_provider *provider)
{
	TAKE(ia_open);
	TAKE(ia_query);
	TAKE(ia_close);
	TAKE(evd_create);
	TAKE(ep_create);
	TAKE(ep_connect);
	TAKE(ep_disconnect);
	TAKE(ep_free);
	TAKE(psp_create);
	TAKE(cr_accept);
	TAKE(cr_reject);
	TAKE(cr_handoff);
	TAKE(ep_create_with_srq);
	TAKE(ep_recv_query);
	TAKE(ep_set_watermark);
	TAKE(srq_create);
	TAKE(srq_post_recv);
	TAKE(srq_resize);
	TAKE(srq_set_lw);
	TAKE(srq_free);
	TAKE(srq_query);
	TAKE(lmr_sync_rdma_read);
	TAKE(lmr_sync_rdma_write);
}

/* Debian's provider calls this in place of libdat2's function. The table is one
 * that it allocated. */
static DAT_RETURN add_provider(const DAT_PROVIDER *provider,
			       const DAT_PROVIDER_INFO *info)
{
	struct dat_provider *own = (struct dat_provider *)(uintptr_t)provider;

	if (own->ia_query_func != ia_query) {
		original = *own;
		take_calls(own);
	}
	return dat_registry_add_provider(provider, info);
}

static void (*stock_call(const char *name))(void)
{
	void (*call)(void);

	*(void **)&call = dlsym(stock, name);
	return call;
}

static int load_stock(void)
{
	DAT_RETURN(*add)
	(const DAT_PROVIDER *, const DAT_PROVIDER_INFO *) = add_provider;

	if (stock)
		return 0;
	dapl_trace_init();
	stock = dlopen(STOCK, RTLD_NOW | RTLD_LOCAL);
	if (stock && dapl_import_replace(stock, "dat_registry_add_provider",
					 *(void **)&add) == 0)
		return 0;
	fprintf(stderr,
		"libdaplofed_core: " STOCK " is missing or another one than "
		"that of Debian's package libdapl2\n");
	return -1;
}

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *instance)
{
	void (*init)(const DAT_PROVIDER_INFO *, const char *);

	if (load_stock() != 0)
		return;
	*(void (**)(void)) & init = stock_call("dat_provider_init");
	if (init)
		init(info, instance);
}

void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	void (*fini)(const DAT_PROVIDER_INFO *);

	if (!stock)
		return;
	*(void (**)(void)) & fini = stock_call("dat_provider_fini");
	if (fini)
		fini(info);
}
