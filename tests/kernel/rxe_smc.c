/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rxe_smc: makes soft-RoCE (rdma_rxe) of Linux 6.1 usable for the kernel's
 * SMC-R.
 *
 * smc.ko and rdma_rxe.ko stay as Debian built them.  Three things in 6.1's rxe
 * keep SMC-R from working; this module papers over them at run time:
 *
 * 1. rxe's query_qp never fills cur_qp_state (it stays RESET), and SMC sends
 *    only if cur_qp_state is RTS (smc_link_sendable()), so every LLC message
 *    fails with ENOLINK.  Here query_qp is wrapped: cur_qp_state = qp_state.
 * 2. SMC arms its receive CQ with IB_CQ_SOLICITED_MASK (3); rxe compares the
 *    stored value with 1 and with 2 only, so the CQ never signals.  Here
 *    req_notify_cq is wrapped: 3 becomes IB_CQ_NEXT_COMP (2).
 * 3. (only with v1=1) SMC-Rv1 accepts only GIDs of type RoCEv1, rxe has only
 *    RoCEv2 ones.  Here rxe announces both types, as hardware RNICs do, so each
 *    address has two GIDs; a QP that uses the RoCEv1 one works as RoCEv2 on the
 *    wire (UDP port 4791), since rxe can do nothing else.
 *
 * Load it after rdma_rxe and before `rdma link add`.  None of this changes what
 * SMC itself writes, except for 3: the GIDs in its messages.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>
#include <uapi/rdma/rdma_user_rxe.h>

static bool v1;
module_param(v1, bool, 0444);
MODULE_PARM_DESC(v1, "announce RoCEv1 GIDs too, so that SMC-Rv1 works");

/* ---- 1 and 2: wrapped device operations -------------------------------- */
static int (*orig_query_qp)(struct ib_qp *, struct ib_qp_attr *, int,
			    struct ib_qp_init_attr *);
static int (*orig_req_notify_cq)(struct ib_cq *, enum ib_cq_notify_flags);

static int query_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
		    struct ib_qp_init_attr *init)
{
	int rc = orig_query_qp(qp, attr, mask, init);

	if (!rc)
		attr->cur_qp_state = attr->qp_state;
	return rc;
}

static int req_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags)
{
	if ((flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED_MASK)
		flags &= ~IB_CQ_SOLICITED;
	return orig_req_notify_cq(cq, flags);
}

static int add_dev(struct ib_device *d)
{
	if (d->ops.driver_id != RDMA_DRIVER_RXE)
		return -EOPNOTSUPP;
	if (d->ops.query_qp != query_qp) {
		orig_query_qp = d->ops.query_qp;
		orig_req_notify_cq = d->ops.req_notify_cq;
		d->ops.query_qp = query_qp;
		d->ops.req_notify_cq = req_notify_cq;
		pr_info("rxe_smc: %s fixed for SMC-R%s\n", dev_name(&d->dev),
			v1 ? ", with RoCEv1 GIDs" : "");
	}
	return 0;
}

static void remove_dev(struct ib_device *d, void *data)
{
	d->ops.query_qp = orig_query_qp;
	d->ops.req_notify_cq = orig_req_notify_cq;
}

static struct ib_client client = {
    .name = "rxe_smc",
    .add = add_dev,
    .remove = remove_dev,
};

/* ---- 3: RoCEv1 GIDs (kretprobes: keep an argument, fix up at return) ---- */
static int keep1(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	*(void **)ri->data = (void *)regs_get_kernel_argument(regs, 0);
	return 0;
}
static int keep2(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	*(void **)ri->data = (void *)regs_get_kernel_argument(regs, 1);
	return 0;
}
static int keep3(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	*(void **)ri->data = (void *)regs_get_kernel_argument(regs, 2);
	return 0;
}

/* rxe_port_immutable(dev, port, immutable) */
static int port_immutable_ret(struct kretprobe_instance *ri,
			      struct pt_regs *regs)
{
	struct ib_port_immutable *im = *(void **)ri->data;

	if (!regs_return_value(regs))
		im->core_cap_flags |= RDMA_CORE_CAP_PROT_ROCE;
	return 0;
}

/* rxe_av_chk_attr(rxe, attr): refuses a RoCEv1 sgid_attr */
static int chk_attr_ret(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct rdma_ah_attr *attr = *(void **)ri->data;

	if (regs_return_value(regs) && (attr->ah_flags & IB_AH_GRH) &&
	    attr->grh.sgid_attr &&
	    attr->grh.sgid_attr->gid_type == IB_GID_TYPE_ROCE)
		regs_set_return_value(regs, 0);
	return 0;
}

/* rxe_av_fill_ip_info(av, attr): leaves network_type 0 for RoCEv1 */
static int fill_ip_ret(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct rxe_av *av = *(void **)ri->data;

	if (!av->network_type)
		av->network_type =
		    av->sgid_addr._sockaddr_in.sin_family == AF_INET
			? RXE_NETWORK_TYPE_IPV4
			: RXE_NETWORK_TYPE_IPV6;
	return 0;
}

static struct kretprobe probes[] = {
    {.kp.symbol_name = "rdma_rxe:rxe_port_immutable",
     .entry_handler = keep3,
     .handler = port_immutable_ret,
     .data_size = sizeof(void *),
     .maxactive = 16},
    {.kp.symbol_name = "rdma_rxe:rxe_av_chk_attr",
     .entry_handler = keep2,
     .handler = chk_attr_ret,
     .data_size = sizeof(void *),
     .maxactive = 16},
    {.kp.symbol_name = "rdma_rxe:rxe_av_fill_ip_info",
     .entry_handler = keep1,
     .handler = fill_ip_ret,
     .data_size = sizeof(void *),
     .maxactive = 16},
};

static int __init rxe_smc_init(void)
{
	int rc, i;

	for (i = 0; v1 && i < ARRAY_SIZE(probes); i++) {
		rc = register_kretprobe(&probes[i]);
		if (rc) {
			pr_err("rxe_smc: probe %s: %d\n",
			       probes[i].kp.symbol_name, rc);
			while (i--)
				unregister_kretprobe(&probes[i]);
			return rc;
		}
	}
	return ib_register_client(&client);
}

static void __exit rxe_smc_exit(void)
{
	int i;

	ib_unregister_client(&client);
	for (i = 0; v1 && i < ARRAY_SIZE(probes); i++)
		unregister_kretprobe(&probes[i]);
}

module_init(rxe_smc_init);
module_exit(rxe_smc_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("lets SMC-R work over soft-RoCE of Linux 6.1 (lab use)");
