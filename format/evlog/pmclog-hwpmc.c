/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Records of hwpmc(4): header of 12 bytes (two layouts, two address widths) or 16. Every 64-bit value of a body is
 * two words, the low half first, on machines of either byte order; the counter in a 16-byte header is native.
 */
#include "format/evlog/pmclog-private.h"

#include <errno.h>

#define DEPTH_MAX 512u
#define TEXT_MAX 1024u /* what the kernel has room for, its NUL included */

struct rec {
	const uint8_t *d;
	size_t len;
	bool big;
};

static uint32_t get32(const struct rec *r, size_t at)
{
	uint32_t v;
	memcpy(&v, r->d + at, 4);
	return r->big ? be32toh(v) : le32toh(v);
}
static uint64_t get64(const struct rec *r, size_t at)
{
	return get32(r, at) | (uint64_t)get32(r, at + 4) << 32;
}
static uint64_t get_native64(const struct rec *r, size_t at)
{
	uint64_t v;
	memcpy(&v, r->d + at, 8);
	return r->big ? be64toh(v) : le64toh(v);
}
static uint64_t get_addr(const struct rec *r, size_t at, unsigned int ptr)
{
	return ptr == 8 ? get64(r, at) : get32(r, at);
}

/* Text from `at` to the end of the record; it must end there with a NUL. */
static int get_text(const struct rec *r, size_t at, char *ret, size_t room)
{
	const uint8_t *nul;

	if (at >= r->len)
		return EBADMSG;
	nul = memchr(r->d + at, 0, r->len - at);
	if (!nul || (size_t)(nul - (r->d + at)) >= room)
		return EBADMSG;
	memcpy(ret, r->d + at, (size_t)(nul - (r->d + at)) + 1);
	return 0;
}

/* --- lengths ------------------------------------------------------------------------------------------- */
struct limits {
	uint16_t min, max; /* 0: no such type */
};
#define TEXT(fixed) { (fixed) + 4, (fixed) + TEXT_MAX }

/* By the number in the log; min is for the narrowest addresses, max for the widest. */
static const struct limits limits12[] = {
	[0] = { 12, 12 }, [1] = { 12, 12 }, [2] = { 20, 20 },
	[3] = { 28 + 4, 36 + TEXT_MAX }, [4] = { 24, 32 }, [5] = { 24, 24 }, [6] = TEXT(20), [7] = { 20, 20 },
	[8] = { 28, 28 }, [9] = { 16 + 4, 28 + TEXT_MAX }, [10] = { 28, 28 }, [11] = { 20, 20 }, [12] = { 16, 16 },
	[13] = { 16, 16 }, [14] = { 20 + 4, 24 + TEXT_MAX }, [15] = { 24, 32 }, [16] = { 24, 24 + 8 * DEPTH_MAX },
	[17] = { 24 + 4, 24 + 256 },
};
static const struct limits limits16[] = {
	[1] = { 16, 16 }, [2] = { 16, 16 }, [3] = { 24, 112 },
	[5] = { 40, 40 }, [6] = TEXT(24), [7] = { 24, 24 }, [8] = { 40, 40 }, [9] = { 32 + 4, 40 + TEXT_MAX },
	[10] = { 32, 32 }, [11] = { 24, 24 }, [12] = { 24, 24 }, [13] = { 24, 24 }, [14] = TEXT(32), [15] = { 40, 40 },
	[16] = { 32, 32 + 8 * DEPTH_MAX }, [17] = { 32 + 4, 32 + 64 }, [18] = { 52, 52 }, [19] = { 24, 24 },
	[20] = { 44, 44 },
};

static const struct limits *limits_of(enum pmc_format f, unsigned int type)
{
	const struct limits *l = NULL;

	if (f == PMC_HDR12 && type < ARRAY_SIZE(limits12))
		l = &limits12[type];
	else if (f == PMC_HDR16 && type < ARRAY_SIZE(limits16))
		l = &limits16[type];
	return l && l->max ? l : NULL;
}

/* The first record settles which numbering it is. 0 or an errno. */
static int head_first(struct pmc_parser *p, unsigned int type, size_t len)
{
	const struct limits *a = limits_of(PMC_HDR12, type), *b = limits_of(PMC_HDR16, type);

	if (type == 2 && len == 20) {
		p->format = PMC_HDR12;
		p->ptr = (unsigned int)p->o.pointer_bytes;
		p->ptr_sure = p->ptr != 0;
		return 0;
	}
	if (type == 3 && len >= limits16[3].min && len <= limits16[3].max) {
		p->format = PMC_HDR16;
		p->ptr = 8;
		p->ptr_sure = true;
		return 0;
	}
	/* No INITIALIZE. A length that fits its type in no numbering is the worse fault. */
	if ((a || b) && !(a && len >= a->min && len <= a->max) && !(b && len >= b->min && len <= b->max))
		return EBADMSG;
	return EPROTO;
}

int pmc_hwpmc_head(struct pmc_parser *p, const uint8_t *h, size_t *len)
{
	struct rec r = { h, 4, p->big };
	uint32_t w = get32(&r, 0);
	unsigned int type = w >> 16 & 0xff;
	const struct limits *l;
	bool first = p->format == PMC_UNKNOWN;
	int ret;

	*len = w & 0xffff;
	if (w >> 24 != 0xee || *len % 4 || *len < (p->format == PMC_HDR16 ? 16 : 12))
		return EBADMSG;
	if (first) {
		ret = head_first(p, type, *len);
		if (ret)
			return ret;
	}
	l = limits_of(p->format, type);
	if (!l)
		return p->o.lenient ? 0 : ENOTSUP;
	return *len < l->min || *len > l->max ? EBADMSG : 0;
}

/* --- how wide an address is (12-byte headers do not say) ----------------------------------------------- */
/* Could this be the upper half of an address? Of a 32-bit address or of text it hardly could. */
static bool like_high_half(uint32_t v)
{
	return v < 0x10000 || v >= 0xffff0000u;
}

static void ptr_settle(struct pmc_parser *p, unsigned int ptr, bool sure)
{
	if (p->ptr_sure)
		return;
	p->ptr = ptr;
	p->ptr_sure = sure;
}

static unsigned int guess_chain(const struct rec *r)
{
	for (size_t at = 28; at + 4 <= r->len; at += 8)
		if (!like_high_half(get32(r, at)))
			return 4;
	return (r->len - 24) % 8 ? 4 : 8;
}

/* Text that begins at one of two places, with a number in front of the later one. */
static unsigned int guess_text(const struct rec *r, size_t at32, size_t at64, size_t high)
{
	if (r->len <= at64 || (r->d[at32] == '/' && !(r->d[at64] == '/' && like_high_half(get32(r, high)))))
		return 4;
	if (r->d[at64] == '/')
		return 8;
	return like_high_half(get32(r, high)) ? 8 : 4;
}

/* The width that a record's length tells; *ret is 0 if it tells none. 0 or an errno. */
static int ptr_of_length(struct pmc_parser *p, unsigned int type, const struct rec *r, unsigned int *ret, bool *sure)
{
	*ret = 0;
	*sure = true;
	switch (type) {
	case 4: /* PCSAMPLE: 24 V1/4; 28 V1/8 or V2/4; 32 V2/8 */
		if (r->len == 24 || r->len == 32)
			p->v1 = r->len == 24; /* only one layout has this length */
		if (r->len == 28 && p->ptr_sure)
			p->v1 = p->ptr == 8;
		*ret = r->len == 24 ? 4 : r->len == 32 ? 8 : p->v1 ? 8 : 4;
		*sure = r->len != 28;
		break;
	case 15:
		if (r->len != 24 && r->len != 32)
			return EBADMSG;
		*ret = r->len == 32 ? 8 : 4;
		break;
	case 16:
		if ((r->len - 24) % 8)
			*ret = 4;
		break;
	}
	return 0;
}

/* What this record tells about the width. 0 or an errno. */
static int ptr_learn(struct pmc_parser *p, unsigned int type, const struct rec *r)
{
	unsigned int want;
	bool sure;
	int ret = ptr_of_length(p, type, r, &want, &sure);

	if (ret)
		return ret;
	if (want && sure && p->ptr_sure && p->ptr != want)
		return EBADMSG; /* one machine wrote it all */
	if (want) {
		ptr_settle(p, want, sure);
		return 0;
	}
	if (p->ptr)
		return 0;
	switch (type) {
	case 3:
		ptr_settle(p, guess_text(r, 28, 36, 28), false);
		break;
	case 9:
		if (!p->v1)
			ptr_settle(p, guess_text(r, 24, 28, 20), false);
		break;
	case 14:
		ptr_settle(p, guess_text(r, 20, 24, 20), false);
		break;
	case 16:
		ptr_settle(p, guess_chain(r), false);
		break;
	}
	return 0;
}

/* --- bodies of 12-byte headers ------------------------------------------------------------------------- */
static int dec12_addr(struct pmc_parser *p, unsigned int type, const struct rec *r, struct pmclog_ev *ev)
{
	unsigned int ptr;
	size_t n;
	int ret = ptr_learn(p, type, r);

	if (ret)
		return ret;
	ptr = p->ptr ? p->ptr : 8;
	switch (type) {
	case 3:
		ev->pl_type = PMCLOG_TYPE_MAPPINGCHANGE;
		ev->pl_u.pl_m.pl_kind = get32(r, 12);
		ev->pl_u.pl_m.pl_start = get_addr(r, 16, ptr);
		ev->pl_u.pl_m.pl_end = get_addr(r, 16 + ptr, ptr);
		ev->pl_u.pl_m.pl_pid = (int32_t)get32(r, 16 + 2 * ptr);
		return get_text(r, 20 + 2 * ptr, ev->pl_u.pl_m.pl_pathname, PMCLOG_PATH_MAX);
	case 4:
		ev->pl_u.pl_s = (struct pmclog_ev_pcsample){ .pl_pid = (int32_t)get32(r, 12), .pl_tid = -1,
			.pl_cpu = UINT32_MAX, .pl_pc = get_addr(r, 16, ptr), .pl_pmcid = get32(r, 16 + ptr) };
		if (!p->v1)
			ev->pl_u.pl_s.pl_usermode = get32(r, 20 + ptr);
		return 0;
	case 9:
		ev->pl_u.pl_x.pl_pid = (int32_t)get32(r, 12);
		ev->pl_u.pl_x.pl_dynaddr = ev->pl_u.pl_x.pl_baseaddr = ev->pl_u.pl_x.pl_pmcid = 0;
		if (p->v1)
			return get_text(r, 16, ev->pl_u.pl_x.pl_pathname, PMCLOG_PATH_MAX);
		if (r->len < 20 + ptr + 4)
			return EBADMSG;
		ev->pl_u.pl_x.pl_baseaddr = get_addr(r, 16, ptr);
		ev->pl_u.pl_x.pl_pmcid = get32(r, 16 + ptr);
		return get_text(r, 20 + ptr, ev->pl_u.pl_x.pl_pathname, PMCLOG_PATH_MAX);
	case 14:
		ev->pl_u.pl_mi.pl_pid = (int32_t)get32(r, 12);
		ev->pl_u.pl_mi.pl_start = get_addr(r, 16, ptr);
		ev->pl_u.pl_mi.pl_size = ev->pl_u.pl_mi.pl_pgoff = 0;
		return get_text(r, 16 + ptr, ev->pl_u.pl_mi.pl_pathname, PMCLOG_PATH_MAX);
	case 15:
		ev->pl_u.pl_mo = (struct pmclog_ev_map_out){ (int32_t)get32(r, 12), get_addr(r, 16, ptr),
							     get_addr(r, 16 + ptr, ptr) };
		return 0;
	}
	n = (r->len - 24) / ptr; /* CALLCHAIN */
	if ((r->len - 24) % ptr || n > DEPTH_MAX)
		return EBADMSG;
	ev->pl_u.pl_cc.pl_pid = (int32_t)get32(r, 12);
	ev->pl_u.pl_cc.pl_tid = -1;
	ev->pl_u.pl_cc.pl_pmcid = get32(r, 16);
	ev->pl_u.pl_cc.pl_cpuflags = get32(r, 20);
	ev->pl_u.pl_cc.pl_npc = (uint32_t)n;
	ev->pl_u.pl_cc.pl_nparts = 0;
	ev->pl_u.pl_cc.pl_period = 0;
	for (size_t i = 0; i < n; i++)
		ev->pl_u.pl_cc.pl_pc[i] = get_addr(r, 24 + i * ptr, ptr);
	return 0;
}

static void init12(struct pmc_parser *p, const struct rec *r, struct pmclog_ev *ev)
{
	ev->pl_type = PMCLOG_TYPE_INITIALIZE;
	ev->pl_u.pl_i = (struct pmclog_ev_initialize){ .pl_version = get32(r, 12), .pl_arch = get32(r, 16),
						       .pl_start = ev->pl_ts };
	/* The driver's major was 1 in the days of the 2005 layouts. */
	p->v1 = p->o.abi ? p->o.abi == PMCLOG_ABI_V1 : get32(r, 12) >> 24 <= 1;
}

static int dec12(struct pmc_parser *p, unsigned int type, const struct rec *r, struct pmclog_ev *ev)
{
	ev->pl_type = (enum pmclog_type)type;
	switch (type) {
	case 0:
		ev->pl_type = PMCLOG_TYPE_CLOSELOG;
		return 0;
	case 1:
		ev->pl_type = PMCLOG_TYPE_DROPNOTIFY;
		ev->pl_u.pl_dn.pl_lost = 0;
		return 0;
	case 2:
		init12(p, r, ev);
		return 0;
	case 5:
		ev->pl_u.pl_a = (struct pmclog_ev_pmcallocate){ get32(r, 12), get32(r, 16), get32(r, 20), 0 };
		return 0;
	case 6:
		ev->pl_u.pl_t.pl_pmcid = get32(r, 12);
		ev->pl_u.pl_t.pl_pid = (int32_t)get32(r, 16);
		return get_text(r, 20, ev->pl_u.pl_t.pl_pathname, PMCLOG_PATH_MAX);
	case 7:
		ev->pl_u.pl_d = (struct pmclog_ev_pmcdetach){ get32(r, 12), (int32_t)get32(r, 16) };
		return 0;
	case 8:
		ev->pl_u.pl_c = (struct pmclog_ev_proccsw){ get32(r, 12), (int32_t)get32(r, 24), -1, get64(r, 16) };
		return 0;
	case 10:
		ev->pl_u.pl_e = (struct pmclog_ev_procexit){ get32(r, 12), (int32_t)get32(r, 24), get64(r, 16) };
		return 0;
	case 11:
		ev->pl_u.pl_f = (struct pmclog_ev_procfork){ (int32_t)get32(r, 12), (int32_t)get32(r, 16) };
		return 0;
	case 12:
		ev->pl_u.pl_se.pl_pid = (int32_t)get32(r, 12);
		return 0;
	case 13:
		ev->pl_u.pl_u.pl_userdata = get32(r, 12);
		return 0;
	case 17:
		ev->pl_u.pl_ad = (struct pmclog_ev_pmcallocatedyn){ get32(r, 12), get32(r, 16), get32(r, 20) };
		return get_text(r, 24, ev->pl_u.pl_ad.pl_evname, sizeof(ev->pl_u.pl_ad.pl_evname));
	}
	if (!p->o.abi && type >= 14)
		p->v1 = false; /* 2005 did not have these */
	return dec12_addr(p, type, r, ev);
}

/* --- bodies of 16-byte headers ------------------------------------------------------------------------- */
static void init16(struct pmc_parser *p, const struct rec *r, struct pmclog_ev *ev)
{
	struct pmclog_ev_initialize *i = &ev->pl_u.pl_i;

	*i = (struct pmclog_ev_initialize){ .pl_version = get32(r, 16), .pl_arch = get32(r, 20) };
	if (r->len >= 32)
		i->pl_tsc_freq = get64(r, 24);
	if (r->len >= 48) {
		i->pl_start.tv_sec = (time_t)get64(r, 32);
		i->pl_start.tv_nsec = (long)get64(r, 40);
		if (i->pl_start.tv_nsec < 0 || i->pl_start.tv_nsec >= (long)NSEC_PER_SEC)
			i->pl_start.tv_nsec = 0;
	}
	if (r->len > 48)
		memcpy(i->pl_cpuid, r->d + 48, MIN(r->len - 48, sizeof(i->pl_cpuid) - 1));
	p->tsc_freq = i->pl_tsc_freq;
	p->tsc_start = ev->pl_tsc;
	p->ts_start = i->pl_start;
}

/* Four pairs of bytes tell what the words behind them are. The call chain comes first in pl_pc. */
static int chain_parts(struct pmc_parser *p, const struct rec *r, size_t words, struct pmclog_ev_callchain *cc)
{
	size_t at = 1, out = 0;
	bool have_chain = false;

	if (!words)
		return EBADMSG;
	for (int pass = 0; pass < 2; pass++) {
		at = 1;
		for (unsigned int i = 0; i < 4 && r->d[32 + 2 * i]; i++) {
			uint8_t type = r->d[32 + 2 * i], n = r->d[33 + 2 * i];
			if (n > words - at)
				return EBADMSG;
			if (type > 3 && !p->o.lenient)
				return ENOTSUP;
			if ((pass == 0) == (type == 1)) {
				cc->pl_parts[cc->pl_nparts++] = (struct pmclog_part){ type, n, (uint16_t)out };
				for (unsigned int k = 0; k < n; k++)
					cc->pl_pc[out++] = get64(r, 32 + (at + k) * 8);
				if (type == 1 && !have_chain)
					cc->pl_npc = n;
				have_chain |= type == 1;
			}
			at += n;
		}
	}
	return 0;
}

static int chain16(struct pmc_parser *p, const struct rec *r, struct pmclog_ev *ev)
{
	struct pmclog_ev_callchain *cc = &ev->pl_u.pl_cc;
	size_t n = (r->len - 32) / 8;

	if ((r->len - 32) % 8)
		return EBADMSG;
	cc->pl_pid = (int32_t)get32(r, 16);
	cc->pl_tid = (int32_t)get32(r, 20);
	cc->pl_pmcid = get32(r, 24);
	cc->pl_cpuflags = get32(r, 28);
	cc->pl_npc = cc->pl_nparts = 0;
	cc->pl_period = 0;
	if (cc->pl_cpuflags & 2)
		return chain_parts(p, r, n, cc);
	cc->pl_npc = (uint32_t)n;
	for (size_t i = 0; i < n; i++)
		cc->pl_pc[i] = get64(r, 32 + i * 8);
	return 0;
}

static int exec16(const struct rec *r, struct pmclog_ev *ev)
{
	/* Newer writers put the base of a PIE in front of the path: it is a page's address, text is not. */
	bool newer = r->len >= 44 && !(get32(r, 32) & 0xfff);

	ev->pl_u.pl_x.pl_pid = (int32_t)get32(r, 16);
	ev->pl_u.pl_x.pl_pmcid = get32(r, 20);
	ev->pl_u.pl_x.pl_baseaddr = get64(r, 24);
	ev->pl_u.pl_x.pl_dynaddr = newer ? get64(r, 32) : 0;
	return get_text(r, newer ? 40 : 32, ev->pl_u.pl_x.pl_pathname, PMCLOG_PATH_MAX);
}

static int dec16(struct pmc_parser *p, unsigned int type, const struct rec *r, struct pmclog_ev *ev)
{
	ev->pl_type = (enum pmclog_type)type;
	switch (type) {
	case 2:
		ev->pl_u.pl_dn.pl_lost = 0;
		break;
	case 3:
		init16(p, r, ev);
		break;
	case 5:
		ev->pl_u.pl_a = (struct pmclog_ev_pmcallocate){ get32(r, 16), get32(r, 20), get32(r, 24), get64(r, 32) };
		break;
	case 6:
		ev->pl_u.pl_t.pl_pmcid = get32(r, 16);
		ev->pl_u.pl_t.pl_pid = (int32_t)get32(r, 20);
		return get_text(r, 24, ev->pl_u.pl_t.pl_pathname, PMCLOG_PATH_MAX);
	case 7:
		ev->pl_u.pl_d = (struct pmclog_ev_pmcdetach){ get32(r, 16), (int32_t)get32(r, 20) };
		break;
	case 8:
		ev->pl_u.pl_c = (struct pmclog_ev_proccsw){ get32(r, 24), (int32_t)get32(r, 28), (int32_t)get32(r, 32),
							    get64(r, 16) };
		break;
	case 9:
		return exec16(r, ev);
	case 10:
		ev->pl_u.pl_e = (struct pmclog_ev_procexit){ get32(r, 20), (int32_t)get32(r, 16), get64(r, 24) };
		break;
	case 11:
		ev->pl_u.pl_f = (struct pmclog_ev_procfork){ (int32_t)get32(r, 16), (int32_t)get32(r, 20) };
		break;
	case 12:
		ev->pl_u.pl_se.pl_pid = (int32_t)get32(r, 16);
		break;
	case 13:
		ev->pl_u.pl_u.pl_userdata = get32(r, 16);
		break;
	case 14:
		ev->pl_u.pl_mi.pl_pid = (int32_t)get32(r, 16);
		ev->pl_u.pl_mi.pl_start = get64(r, 24);
		ev->pl_u.pl_mi.pl_size = ev->pl_u.pl_mi.pl_pgoff = 0;
		return get_text(r, 32, ev->pl_u.pl_mi.pl_pathname, PMCLOG_PATH_MAX);
	case 15:
		ev->pl_u.pl_mo = (struct pmclog_ev_map_out){ (int32_t)get32(r, 16), get64(r, 24), get64(r, 32) };
		break;
	case 16:
		return chain16(p, r, ev);
	case 17:
		ev->pl_u.pl_ad = (struct pmclog_ev_pmcallocatedyn){ get32(r, 16), get32(r, 20), get32(r, 24) };
		return get_text(r, 32, ev->pl_u.pl_ad.pl_evname, sizeof(ev->pl_u.pl_ad.pl_evname));
	case 18:
		ev->pl_u.pl_tc.pl_tid = (int32_t)get32(r, 16);
		ev->pl_u.pl_tc.pl_pid = (int32_t)get32(r, 20);
		ev->pl_u.pl_tc.pl_flags = get32(r, 24);
		return get_text(r, 32, ev->pl_u.pl_tc.pl_tdname, sizeof(ev->pl_u.pl_tc.pl_tdname));
	case 19:
		ev->pl_u.pl_te.pl_tid = (int32_t)get32(r, 16);
		break;
	case 20:
		ev->pl_u.pl_pc.pl_pid = (int32_t)get32(r, 16);
		ev->pl_u.pl_pc.pl_flags = get32(r, 20);
		return get_text(r, 24, ev->pl_u.pl_pc.pl_pcomm, sizeof(ev->pl_u.pl_pc.pl_pcomm));
	}
	return 0;
}

/* Cycles to wall-clock time, by what INITIALIZE said. */
static void stamp16(const struct pmc_parser *p, struct pmclog_ev *ev)
{
	__int128 d;
	int64_t ns;

	if (!p->tsc_freq)
		return;
	d = (__int128)(int64_t)(ev->pl_tsc - p->tsc_start) * (int64_t)NSEC_PER_SEC / (__int128)p->tsc_freq;
	if (d > INT64_MAX / 4 || d < INT64_MIN / 4)
		return;
	ns = (int64_t)d + p->ts_start.tv_nsec;
	ev->pl_ts.tv_sec = (time_t)((uint64_t)p->ts_start.tv_sec + (uint64_t)(ns / (int64_t)NSEC_PER_SEC));
	ev->pl_ts.tv_nsec = (long)(ns % (int64_t)NSEC_PER_SEC);
	if (ev->pl_ts.tv_nsec < 0) {
		ev->pl_ts.tv_nsec += (long)NSEC_PER_SEC;
		ev->pl_ts.tv_sec = (time_t)((uint64_t)ev->pl_ts.tv_sec - 1);
	}
}

int pmc_hwpmc_decode(struct pmc_parser *p, size_t len, struct pmclog_ev *ev)
{
	struct rec r = { p->scratch, len, p->big };
	unsigned int type = get32(&r, 0) >> 16 & 0xff;
	int ret;

	ev->pl_rawtype = type;
	if (p->format == PMC_HDR12) {
		ev->pl_ts.tv_sec = (time_t)get32(&r, 4);
		ev->pl_ts.tv_nsec = (long)get32(&r, 8);
	} else {
		ev->pl_tsc = get_native64(&r, 8);
	}
	if (!limits_of(p->format, type)) {
		ev->pl_type = PMCLOG_TYPE_UNKNOWN;
		ret = 0;
	} else {
		ret = p->format == PMC_HDR12 ? dec12(p, type, &r, ev) : dec16(p, type, &r, ev);
	}
	ev->pl_abi = p->format == PMC_HDR16 ? PMCLOG_ABI_V6 : p->v1 ? PMCLOG_ABI_V1 : PMCLOG_ABI_V2;
	if (p->format == PMC_HDR16)
		stamp16(p, ev);
	return ret;
}
