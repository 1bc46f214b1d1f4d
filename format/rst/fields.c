/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The layouts as tables, one array a record form and version range. Decoding, encoding, printing, checking and the
 * tests all walk the same tables, so a bit is told once.
 */
#include <errno.h>

#include "format/rst/rst.h"

#define AT(byte, bit) ((byte) * 8 + 7 - (bit))
#define OFF(m) offsetof(struct rst_rec, u.m)
#define SZ(m) sizeof(((struct rst_rec *)0)->u.m)
/* number from bit `b` of byte B downwards, w bits */
#define N(nm, m, B, b, w) { .name = nm, .offset = OFF(m), .size = SZ(m), .bit = AT(B, b), .width = w }
#define X(nm, m, B, b, w) { .name = nm, .offset = OFF(m), .size = SZ(m), .bit = AT(B, b), .width = w, .is_hex = true }
/* split number: the low part, then the high one */
#define S(nm, m, B, b, w, HB, Hb, Hw) \
	{ .name = nm, .offset = OFF(m), .size = SZ(m), .bit = AT(B, b), .width = w, .hi_bit = AT(HB, Hb), .hi_width = Hw }
#define T(nm, m, B) { .name = nm, .offset = OFF(m), .size = SZ(m), .bit = AT(B, 7), .is_bytes = true }

#define INSTR_FLAGS N("ea_valid", instr.ea_valid, 1, 6, 1), N("tr", instr.tr, 1, 5, 1)
#define INSTR_REST \
	N("pr", instr.pr, 1, 3, 1), N("bt", instr.bt, 1, 2, 1), N("an", instr.an, 1, 1, 1), \
	X("instr", instr.instr, 4, 7, 32), X("pc_va", instr.pc_va, 8, 7, 64), X("ea_va", instr.ea_va, 16, 7, 64)

static const struct rst_field header[] = {
	N("major", header.major, 1, 7, 8), N("minor", header.minor, 2, 7, 8), X("percent", header.percent, 3, 7, 8),
	T("text", header.text, 4),
};
static const struct rst_field instr_110[] = { INSTR_FLAGS, INSTR_REST, X("ihash", instr.ihash, 2, 7, 16) };
static const struct rst_field instr_212[] = {
	INSTR_FLAGS, INSTR_REST, N("cpu", instr.cpu, 2, 7, 6), X("ihash", instr.ihash, 2, 1, 10),
};
static const struct rst_field instr_new[] = {
	INSTR_FLAGS, N("hpriv", instr.hpriv, 1, 4, 1), INSTR_REST, S("cpu", instr.cpu, 2, 7, 6, 2, 1, 4),
};
static const struct rst_field traceinfo_level[] = {
	N("subtype", traceinfo.subtype, 1, 7, 8), N("level", traceinfo.level, 2, 7, 16),
	N("val", traceinfo.val, 4, 7, 32), N("time", traceinfo.time, 8, 7, 64),
};
static const struct rst_field traceinfo_other[] = {
	N("subtype", traceinfo.subtype, 1, 7, 8), T("data", traceinfo.data, 2),
};
#define TLB_REST \
	N("demap", tlb.demap, 1, 7, 1), N("type", tlb.is_data, 1, 6, 1), N("index", tlb.index, 2, 7, 16), \
	X("tag", tlb.tag, 8, 7, 64), X("data", tlb.data, 16, 7, 64)
static const struct rst_field tlb_106[] = { TLB_REST, N("valid", tlb.valid, 1, 5, 1), X("state", tlb.state, 4, 7, 16) };
static const struct rst_field tlb_212[] = { TLB_REST, N("unit", tlb.unit, 4, 7, 2), N("cpu", tlb.cpu, 4, 5, 6) };
static const struct rst_field tlb_new[] = {
	TLB_REST, N("unit", tlb.unit, 4, 7, 2), S("cpu", tlb.cpu, 4, 5, 6, 5, 7, 4),
};
static const struct rst_field thread[] = { N("icontext", thread.icontext, 2, 7, 16), X("tid", thread.tid, 8, 7, 64) };
#define TRAP_REST \
	N("is_async", trap.is_async, 1, 7, 1), N("tl", trap.tl, 1, 3, 4), X("pstate", trap.pstate, 4, 7, 16), \
	X("pc", trap.pc, 8, 7, 64), X("npc", trap.npc, 16, 7, 64)
static const struct rst_field trap_110[] = {
	TRAP_REST, X("ttype", trap.ttype, 2, 7, 16), X("syscall", trap.syscall, 6, 7, 16),
};
static const struct rst_field trap_212[] = {
	TRAP_REST, N("cpu", trap.cpu, 2, 7, 6), X("ttype", trap.ttype, 2, 1, 10), X("syscall", trap.syscall, 6, 7, 16),
};
static const struct rst_field trap_new[] = {
	TRAP_REST, S("cpu", trap.cpu, 2, 7, 6, 6, 7, 4), X("ttype", trap.ttype, 2, 1, 10),
	X("syscall", trap.syscall, 6, 3, 12),
};
#define TRAPEXIT_REST N("tl", trapexit.tl, 1, 7, 8), X("tstate", trapexit.tstate, 4, 7, 32)
static const struct rst_field trapexit_110[] = {
	TRAPEXIT_REST, X("pc", trapexit.pc, 8, 7, 64), X("npc", trapexit.npc, 16, 7, 64),
};
static const struct rst_field trapexit_212[] = { TRAPEXIT_REST, N("cpu", trapexit.cpu, 2, 7, 6) };
static const struct rst_field trapexit_new[] = { TRAPEXIT_REST, S("cpu", trapexit.cpu, 2, 7, 6, 2, 1, 4) };
#define REGVAL_REST \
	N("postInstr", regval.post, 1, 7, 1), N("regtype[0]", regval.regtype[0], 2, 7, 8), \
	N("regtype[1]", regval.regtype[1], 3, 7, 8), N("regid[0]", regval.regid[0], 4, 7, 8), \
	N("regid[1]", regval.regid[1], 5, 7, 8), X("value[0]", regval.value[0], 8, 7, 64), \
	X("value[1]", regval.value[1], 16, 7, 64)
static const struct rst_field regval_212[] = { REGVAL_REST, N("cpu", regval.cpu, 1, 6, 7) };
static const struct rst_field regval_new[] = { REGVAL_REST, S("cpu", regval.cpu, 1, 6, 7, 6, 7, 3) };
/* 32 bits wide once, and then filled with anything */
static const struct rst_field cpu_106[] = { N("cpu", cpu.cpu, 4, 7, 32), X("timestamp", cpu.timestamp, 16, 7, 64) };
static const struct rst_field cpu[] = { N("cpu", cpu.cpu, 6, 7, 16), X("timestamp", cpu.timestamp, 16, 7, 64) };
static const struct rst_field process[] = {
	N("old_pid", process.old_pid, 8, 7, 32), N("new_pid", process.new_pid, 12, 7, 32),
	N("old_context", process.old_context, 16, 7, 32), N("new_context", process.new_context, 20, 7, 32),
};
static const struct rst_field dma[] = {
	N("iswrite", dma.iswrite, 1, 0, 1), N("nbytes", dma.nbytes, 4, 7, 32), X("start_pa", dma.start_pa, 8, 7, 64),
};
static const struct rst_field string[] = { T("text", string.text, 1) };
static const struct rst_field delim[] = {
	N("id", delim.id, 1, 7, 8), N("what", delim.what, 2, 7, 16), N("length", delim.length, 4, 7, 32),
};
#define PREG_REST \
	X("asi", preg.asi, 1, 7, 8), X("trap_lvl", preg.traplevel, 4, 7, 8), X("trap_type", preg.traptype, 5, 7, 8), \
	X("pstate", preg.pstate, 6, 7, 16), X("primA", preg.prim_a, 16, 7, 16), X("secA", preg.sec_a, 18, 7, 16), \
	X("primD", preg.prim_d, 20, 7, 16), X("secD", preg.sec_d, 22, 7, 16)
static const struct rst_field preg_109[] = { PREG_REST, X("last_context", preg.last_context, 2, 7, 16) };
static const struct rst_field preg_212[] = { PREG_REST, N("cpu", preg.cpu, 8, 7, 8) };
static const struct rst_field preg_new[] = { PREG_REST, S("cpu", preg.cpu, 8, 7, 8, 9, 7, 2) };
#define PHYS_REST \
	N("ea_valid", physaddr.ea_valid, 1, 7, 1), X("pc_pa", physaddr.pc_pa, 8, 7, 64), X("ea_pa", physaddr.ea_pa, 16, 7, 64)
static const struct rst_field physaddr_212[] = { PHYS_REST, N("cpu", physaddr.cpu, 1, 6, 7) };
static const struct rst_field physaddr_new[] = { PHYS_REST, S("cpu", physaddr.cpu, 1, 6, 7, 2, 7, 3) };
#define PAVA_REST \
	N("ea_valid", pavadiff.ea_valid, 1, 7, 1), X("pc_pa_va", pavadiff.pc_pa_va, 8, 7, 64), \
	X("ea_pa_va", pavadiff.ea_pa_va, 16, 7, 64)
#define PAVA_CTX N("icontext", pavadiff.icontext, 4, 7, 16), N("dcontext", pavadiff.dcontext, 6, 7, 16)
static const struct rst_field pavadiff_104[] = { PAVA_REST, N("context", pavadiff.context, 2, 7, 16) };
static const struct rst_field pavadiff_106[] = { PAVA_REST, PAVA_CTX };
static const struct rst_field pavadiff_212[] = { PAVA_REST, PAVA_CTX, N("cpu", pavadiff.cpu, 1, 6, 7) };
static const struct rst_field pavadiff_new[] = { PAVA_REST, PAVA_CTX, S("cpu", pavadiff.cpu, 1, 6, 7, 2, 7, 3) };
#define MARK_REST \
	N("recnum", filemarker.is_recnum, 1, 7, 1), N("level", filemarker.level, 1, 6, 7), \
	N("rectype", filemarker.rec_type, 2, 7, 8), N("incount", filemarker.incount, 8, 7, 64), \
	N("outcount", filemarker.outcount, 16, 7, 64)
static const struct rst_field filemarker_212[] = { MARK_REST, N("cpu", filemarker.cpu, 3, 7, 8) };
static const struct rst_field filemarker_new[] = { MARK_REST, S("cpu", filemarker.cpu, 3, 7, 8, 4, 7, 2) };
static const struct rst_field status[] = {
	N("status", status.status, 1, 7, 8), N("analyzer", status.analyzer, 2, 7, 8), N("command", status.command, 3, 7, 8),
};
static const struct rst_field patch[] = {
	N("isbegin", patch.is_begin, 1, 0, 1), N("rewindrecs", patch.rewindrecs, 2, 7, 8), N("id", patch.id, 3, 7, 8),
	N("length", patch.length, 4, 7, 16), T("descr", patch.descr, 8),
};
static const struct rst_field hwinfo[] = {
	N("sim", hwinfo.sim, 1, 7, 1), N("category", hwinfo.category, 2, 7, 8), N("infotype", hwinfo.infotype, 3, 7, 8),
	N("index", hwinfo.index, 4, 7, 16), N("count", hwinfo.count, 6, 7, 16), X("val", hwinfo.val, 8, 7, 64),
	X("val2", hwinfo.val2, 16, 7, 64),
};
#define MEM_HEAD N("is128", memval.is128, 1, 7, 1), N("addrisVA", memval.addr_is_va, 1, 6, 1)
#define MEM_CPU_OLD N("cpu", memval.cpu, 2, 7, 8)
#define MEM_CPU S("cpu", memval.cpu, 2, 7, 8, 1, 1, 2)
#define MEM_64 N("size", memval.size, 3, 3, 4), X("addr", memval.addr, 8, 7, 64), X("value", memval.value, 16, 7, 64)
#define MEM_128 \
	N("iscont", memval.is_cont, 1, 5, 1), X("addr36", memval.addr36, 3, 7, 8), X("addr4", memval.addr4, 4, 7, 32), \
	T("bytes", memval.bytes, 8)
static const struct rst_field memval64_212[] = { MEM_HEAD, MEM_CPU_OLD, MEM_64 };
static const struct rst_field memval64_new[] = { MEM_HEAD, MEM_CPU, MEM_64 };
static const struct rst_field memval128_212[] = { MEM_HEAD, MEM_CPU_OLD, MEM_128 };
static const struct rst_field memval128_new[] = { MEM_HEAD, MEM_CPU, MEM_128 };
static const struct rst_field bustrace[] = {
	N("dirtyvictim", bustrace.dirtyvictim, 1, 7, 1), N("shared", bustrace.shared, 1, 6, 1),
	N("owned", bustrace.owned, 1, 5, 1), N("memcancel", bustrace.memcancel, 1, 4, 1), N("kind", bustrace.kind, 1, 3, 4),
	N("transaction", bustrace.transaction, 2, 7, 6), N("agent", bustrace.agent, 2, 1, 10),
	N("tdiff", bustrace.tdiff, 4, 7, 1), N("ns", bustrace.is_ns, 4, 6, 1), N("timestamp", bustrace.timestamp, 4, 5, 20),
	X("specific", bustrace.specific, 8, 7, 64), X("pa", bustrace.pa, 16, 7, 64),
};
static const struct rst_field snoop[] = {
	N("request", snoop.request, 1, 7, 8), N("device", snoop.device, 2, 7, 16), N("size", snoop.size, 4, 7, 32),
	X("pa", snoop.pa, 8, 7, 64), N("devtype", snoop.device_type, 16, 7, 16),
};
static const struct rst_field tsb[] = {
	N("isdata", tsb.isdata, 1, 0, 1), N("cpu", tsb.cpu, 2, 1, 10), X("pa", tsb.pa, 8, 7, 64), X("va", tsb.va, 16, 7, 64),
};
static const struct rst_field rfs_header[] = {
	N("section", rfs_header.section, 1, 7, 8), N("count", rfs_header.count, 8, 7, 64),
};
#define CW_REST \
	N("cpu", rfs_cw.cpu, 1, 7, 10), N("reftype", rfs_cw.reftype, 2, 5, 6), X("va", rfs_cw.va, 8, 7, 64), \
	X("pa", rfs_cw.pa, 16, 7, 64)
static const struct rst_field rfs_cw[] = {
	CW_REST, X("asi", rfs_cw.asi, 4, 7, 8), N("va_valid", rfs_cw.va_valid, 5, 7, 1), N("fcn", rfs_cw.fcn, 5, 6, 5),
};
static const struct rst_field rfs_cw_dma[] = { CW_REST, N("dma_size", rfs_cw.dma_size, 4, 7, 32) };
static const struct rst_field rfs_bt[] = {
	N("cpu", rfs_bt.cpu, 1, 7, 10), N("taken", rfs_bt.taken, 2, 5, 1), X("instr", rfs_bt.instr, 4, 7, 32),
	X("pc", rfs_bt.pc, 8, 7, 64), X("npc", rfs_bt.npc, 16, 7, 64),
};
static const struct rst_field trapping[] = {
	N("hpriv", trapping.hpriv, 1, 7, 1), N("priv", trapping.priv, 1, 6, 1), N("iftrap", trapping.iftrap, 1, 5, 1),
	N("ea_va_valid", trapping.ea_va_valid, 1, 4, 1), N("ea_pa_valid", trapping.ea_pa_valid, 1, 3, 1),
	N("cpu", trapping.cpu, 2, 7, 10), X("instr", trapping.instr, 4, 7, 32), X("pc_va", trapping.pc_va, 8, 7, 64),
	X("ea_va", trapping.ea_va, 16, 7, 64),
};
static const struct rst_field x86[] = {
	N("length", x86.length, 1, 7, 8), N("mem_size", x86.mem_size, 2, 7, 8), X("flags", x86.flags, 3, 7, 8),
	T("bytes", x86.bytes, 8),
};

/* A type has up to four layouts, each from a version on; the last one whose `from` is not above applies. */
struct layout {
	uint16_t from;
	uint8_t n;
	const struct rst_field *f;
};
struct type_desc {
	const char *name;
	struct layout by_version[4]; /* newest first, ended by f == NULL */
};
#define L(from, a) { from, ARRAY_SIZE(a), a }
static const struct type_desc types[64] = {
	[RST_ZERO] = { "zero", {} },
	[RST_HEADER] = { "header", { L(0, header) } },
	[RST_INSTR] = { "instr", { L(212, instr_new), L(110, instr_212), L(0, instr_110) } },
	[RST_TRACEINFO] = { "traceinfo", { L(110, traceinfo_level) } },
	[RST_TLB] = { "tlb", { L(212, tlb_new), L(106, tlb_212), L(0, tlb_106) } },
	[RST_THREAD] = { "thread", { L(0, thread) } },
	[RST_TRAP] = { "trap", { L(212, trap_new), L(110, trap_212), L(0, trap_110) } },
	[RST_TRAPEXIT] = { "trapexit", { L(212, trapexit_new), L(110, trapexit_212), L(0, trapexit_110) } },
	[RST_REGVAL] = { "regval", { L(212, regval_new), L(0, regval_212) } },
	[RST_CPU] = { "cpu", { L(106, cpu), L(0, cpu_106) } },
	[RST_PROCESS] = { "process", { L(0, process) } },
	[RST_DMA] = { "dma", { L(0, dma) } },
	[RST_STRDESC] = { "strdesc", { L(0, string) } },
	[RST_LEFTDELIM] = { "ldelim", { L(0, delim) } },
	[RST_RIGHTDELIM] = { "rdelim", { L(0, delim) } },
	[RST_PREG] = { "preg", { L(212, preg_new), L(109, preg_212), L(0, preg_109) } },
	[RST_PHYSADDR] = { "physaddr", { L(212, physaddr_new), L(0, physaddr_212) } },
	[RST_PAVADIFF] = { "pavadiff", { L(212, pavadiff_new), L(106, pavadiff_212), L(104, pavadiff_106), L(0, pavadiff_104) } },
	[RST_NULLREC] = { "nullrec", {} },
	[RST_STRCONT] = { "strcont", { L(0, string) } },
	[RST_FILEMARKER] = { "filemark", { L(212, filemarker_new), L(0, filemarker_212) } },
	[RST_STATUS] = { "status", { L(102, status) } },
	[RST_PATCH] = { "patch", { L(103, patch) } },
	[RST_HWINFO] = { "hwinfo", { L(0, hwinfo) } },
	[RST_MEMVAL] = { "memval", { L(212, memval64_new), L(201, memval64_212) } },
	[RST_BUSTRACE] = { "bustrace", { L(202, bustrace) } },
	[RST_SNOOP] = { "snoop", { L(207, snoop) } },
	[RST_TSB_ACCESS] = { "tsb", { L(208, tsb) } },
	[RST_RFS_HEADER] = { "rfs_sec", { L(210, rfs_header) } },
	[RST_RFS_CW] = { "rfs_cw", { L(210, rfs_cw) } },
	[RST_RFS_BT] = { "rfs_bt", { L(210, rfs_bt) } },
	[RST_TRAPPING_INSTR] = { "trapping", { L(213, trapping) } },
	[RST_X86_INSTR] = { "x86", { L(0, x86) } },
};
static const struct layout memval128_old = L(201, memval128_212), memval128_now = L(212, memval128_new);
static const struct layout traceinfo_rest = L(110, traceinfo_other);
static const struct layout cw_dma = L(210, rfs_cw_dma);

static const struct layout *layout_of(uint8_t rtype, const uint8_t *rec, unsigned int version)
{
	const struct layout *l;

	if (rtype >= ARRAY_SIZE(types))
		return NULL;
	for (l = types[rtype].by_version; l < types[rtype].by_version + 4 && l->f; l++)
		if (version >= l->from)
			break;
	if (l == types[rtype].by_version + 4 || !l->f)
		return NULL;
	if (rec && rtype == RST_MEMVAL && rec[1] & 0x80)
		return version >= 212 ? &memval128_now : &memval128_old;
	if (rec && rtype == RST_TRACEINFO && rec[1] != RST_TRACEINFO_LEVEL)
		return &traceinfo_rest;
	if (rec && rtype == RST_RFS_CW && ((rec[2] & 0x3f) == 6 || (rec[2] & 0x3f) == 7))
		return &cw_dma;
	return l;
}

const struct rst_field *rst_rec_fields(uint8_t rtype, const uint8_t *rec, unsigned int version, size_t *n)
{
	const struct layout *l = layout_of(rtype, rec, version);

	*n = l ? l->n : 0;
	return l ? l->f : NULL;
}

static uint64_t get_bits(const uint8_t *rec, unsigned int bit, unsigned int width)
{
	unsigned int end = bit + width, at = bit / 8;
	uint64_t v = 0;

	if (width == 64 && !(bit % 8))
		return rst_be64(rec + at);
	v = rec[at] & (0xffu >> (bit % 8));
	for (at++; at * 8 < end; at++)
		v = v << 8 | rec[at];
	return v >> (at * 8 - end);
}

static void set_bits(uint8_t *rec, unsigned int bit, unsigned int width, uint64_t v)
{
	while (width) {
		unsigned int end = bit + width; /* the byte that has the lowest bits */
		unsigned int at = (end - 1) / 8, low = at * 8 + 8 - end, n = MIN(width, 8 - low);
		uint8_t mask = (uint8_t)(((1u << n) - 1) << low);

		rec[at] = (uint8_t)((rec[at] & ~mask) | ((uint8_t)(v << low) & mask));
		v >>= n;
		width -= n;
	}
}

uint64_t rst_field_get(const struct rst_field *f, const uint8_t rec[RST_REC_SIZE])
{
	uint64_t v = get_bits(rec, f->bit, f->width);

	if (f->hi_width)
		v |= get_bits(rec, f->hi_bit, f->hi_width) << f->width;
	return v;
}

void rst_field_set(const struct rst_field *f, uint8_t rec[RST_REC_SIZE], uint64_t value)
{
	set_bits(rec, f->bit, f->width, value);
	if (f->hi_width)
		set_bits(rec, f->hi_bit, f->hi_width, value >> f->width);
}

const struct rst_field *rst_field_find(uint8_t rtype, const uint8_t *rec, unsigned int version, const char *name)
{
	size_t n;
	const struct rst_field *f = rst_rec_fields(rtype, rec, version, &n);

	for (; n; n--, f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

static uint64_t load(const struct rst_field *f, const struct rst_rec *r)
{
	const uint8_t *p = (const uint8_t *)r + f->offset;
	uint64_t v = 0;

	memcpy(&v, p, f->size);
	return v;
}

int rst_rec_decode(const uint8_t rec[RST_REC_SIZE], unsigned int version, struct rst_rec *ret)
{
	size_t n;
	const struct rst_field *f = rst_rec_fields(rec[0], rec, version, &n);

	memset(ret, 0, sizeof(*ret));
	ret->rtype = rec[0];
	if (!f) {
		memcpy(ret->u.raw.data, rec + 1, sizeof(ret->u.raw.data));
		return rec[0] == RST_NULLREC ? 0 : -EPROTONOSUPPORT;
	}
	for (; n; n--, f++) {
		uint8_t *to = (uint8_t *)ret + f->offset;

		if (f->is_bytes) {
			memcpy(to, rec + f->bit / 8, f->size);
		} else {
			uint64_t v = rst_field_get(f, rec);

			memcpy(to, &v, f->size);
		}
	}
	return 0;
}

/* The form of a record that is yet to be written. */
static const struct rst_field *fields_of_rec(const struct rst_rec *r, unsigned int version, size_t *n)
{
	uint8_t probe[RST_REC_SIZE] = { r->rtype };

	if (r->rtype == RST_MEMVAL)
		probe[1] = r->u.memval.is128 ? 0x80 : 0;
	if (r->rtype == RST_TRACEINFO)
		probe[1] = r->u.traceinfo.subtype;
	if (r->rtype == RST_RFS_CW)
		probe[2] = r->u.rfs_cw.reftype;
	return rst_rec_fields(r->rtype, probe, version, n);
}

int rst_rec_encode(const struct rst_rec *r, unsigned int version, uint8_t rec[RST_REC_SIZE], const char **bad)
{
	size_t n;
	const struct rst_field *f = fields_of_rec(r, version, &n);

	memset(rec, 0, RST_REC_SIZE);
	rec[0] = r->rtype;
	if (!f && r->rtype != RST_NULLREC)
		memcpy(rec + 1, r->u.raw.data, sizeof(r->u.raw.data));
	for (; n; n--, f++) {
		unsigned int width = f->width + f->hi_width;
		uint64_t v;

		if (f->is_bytes) {
			memcpy(rec + f->bit / 8, (const uint8_t *)r + f->offset, f->size);
			continue;
		}
		v = load(f, r);
		if (width < 64 && v >> width) {
			if (bad)
				*bad = f->name;
			return -ERANGE;
		}
		rst_field_set(f, rec, v);
	}
	return 0;
}

static bool tail_is_zero(const uint8_t *p, size_t len)
{
	const uint8_t *nul = memchr(p, 0, len);

	for (; nul && nul < p + len; nul++)
		if (*nul)
			return false;
	return true;
}

bool rst_rec_is_clean(const uint8_t rec[RST_REC_SIZE], unsigned int version)
{
	uint8_t left[RST_REC_SIZE];
	size_t n, i;
	const struct rst_field *f = rst_rec_fields(rec[0], rec, version, &n);

	if (rec[0] == RST_HEADER)
		return tail_is_zero(rec + 4, 20);
	if (rec[0] == RST_STRDESC)
		return tail_is_zero(rec + 1, 23);
	if (!f)
		return true;
	memcpy(left, rec, RST_REC_SIZE);
	left[0] = 0;
	for (; n; n--, f++) {
		if (f->is_bytes)
			memset(left + f->bit / 8, 0, f->size);
		else
			rst_field_set(f, left, 0);
	}
	for (i = 0; i < RST_REC_SIZE; i++)
		if (left[i])
			return false;
	return true;
}

int rst_rec_cpu(const uint8_t rec[RST_REC_SIZE], unsigned int version)
{
	const struct rst_field *f;

	if (rec[0] == RST_INSTR) /* by far the most frequent */
		return version >= 212 ? rec[2] >> 2 | ((rec[2] & 3) << 2 | rec[3] >> 6) << 6 :
		       version >= 110 ? rec[2] >> 2 : -1;
	f = rst_field_find(rec[0], rec, version, "cpu");
	return f ? (int)rst_field_get(f, rec) : -1;
}

void rst_rec_set_cpu(uint8_t rec[RST_REC_SIZE], unsigned int version, unsigned int n)
{
	const struct rst_field *f = rst_field_find(rec[0], rec, version, "cpu");

	if (f)
		rst_field_set(f, rec, n);
}

const char *rst_type_name(uint8_t rtype, unsigned int version)
{
	if (rtype == RST_PREG && version < 205)
		return "context";
	if (rtype == RST_STRDESC && version < 108)
		return "string";
	return rtype < ARRAY_SIZE(types) && types[rtype].name ? types[rtype].name : "unknown";
}

int rst_type_of_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (types[i].name && !strcmp(types[i].name, name))
			return (int)i;
	if (!strcmp(name, "context"))
		return RST_PREG;
	return !strcmp(name, "string") ? RST_STRDESC : -1;
}
