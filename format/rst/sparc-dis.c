/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* SPARC V9 words to text, from the V9 opcode maps. VIS and other implementation-dependent words print as impdep1/2. */
#include <stdarg.h>
#include <stdio.h>

#include "format/rst/sparc.h"

static const char *const regs[32] = {
	"%g0", "%g1", "%g2", "%g3", "%g4", "%g5", "%g6", "%g7", "%o0", "%o1", "%o2", "%o3", "%o4", "%o5", "%sp", "%o7",
	"%l0", "%l1", "%l2", "%l3", "%l4", "%l5", "%l6", "%l7", "%i0", "%i1", "%i2", "%i3", "%i4", "%i5", "%fp", "%i7",
};
static const char *const icc_names[16] = {
	"n", "e", "le", "l", "leu", "cs", "neg", "vs", "a", "ne", "g", "ge", "gu", "cc", "pos", "vc",
};
static const char *const fcc_names[16] = {
	"n", "ne", "lg", "ul", "l", "ug", "g", "u", "a", "e", "ue", "ge", "uge", "le", "ule", "o",
};
static const char *const rcond_names[8] = { NULL, "z", "lez", "lz", NULL, "nz", "gz", "gez" };

struct out {
	char *text;
	size_t len;
};

static PRINTF_LIKE(2, 3) void put(struct out *o, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(o->text + o->len, SPARC_TEXT_SIZE - o->len, fmt, ap);
	va_end(ap);
	if (n > 0)
		o->len = MIN(o->len + (size_t)n, (size_t)SPARC_TEXT_SIZE - 1);
}

/* 0…9 decimal, all else hex, the sign in front. */
static void put_num(struct out *o, int64_t v)
{
	uint64_t a = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

	put(o, a < 10 ? "%s%llu" : "%s0x%llx", v < 0 ? "-" : "", (unsigned long long)a);
}

static int64_t simm(uint32_t w, unsigned int bits)
{
	return (int64_t)((uint64_t)w << (64 - bits)) >> (64 - bits);
}

/* rs2 or the signed immediate of `bits` bits */
static void put_rs2_or_imm(struct out *o, uint32_t w, unsigned int bits)
{
	if (w & 0x2000)
		put_num(o, simm(w, bits));
	else
		put(o, "%s", regs[w & 31]);
}

static void put_address(struct out *o, uint32_t w)
{
	put(o, "%s + ", regs[sparc_rs1(w)]);
	put_rs2_or_imm(o, w, 13);
}

/* %f of a 5-bit field; doubles and quads have their high bit in bit 0 */
static void put_freg(struct out *o, unsigned int n, int size)
{
	put(o, "%%f%u", size > 1 ? (n & 0x1e) | (n & 1) << 5 : n);
}

static void dis_branch(struct out *o, uint32_t w, uint64_t pc, enum sparc_kind k)
{
	unsigned int cond = w >> 25 & 15, cc = w >> 20 & 3;
	bool pred = k != SPARC_BICC && k != SPARC_FBFCC;
	uint64_t to = pc + (uint64_t)sparc_disp(w, k);

	switch (k) {
	case SPARC_BICC: put(o, "b%s", icc_names[cond]); break;
	case SPARC_BPCC: put(o, "bp%s", icc_names[cond]); break;
	case SPARC_FBFCC: put(o, "fb%s", fcc_names[cond]); break;
	case SPARC_FBPFCC: put(o, "fbp%s", fcc_names[cond]); break;
	default: put(o, "br%s", rcond_names[cond & 7]); break;
	}
	put(o, "%s%s ", sparc_has_annul(w) ? ",a" : "", pred ? (w & 0x80000 ? ",pt" : ",pn") : "");
	if (k == SPARC_BPCC)
		put(o, "%s, ", cc == 0 ? "%icc" : cc == 2 ? "%xcc" : "%cc?");
	else if (k == SPARC_FBPFCC)
		put(o, "%%fcc%u, ", cc);
	else if (k == SPARC_BPR)
		put(o, "%s, ", regs[sparc_rs1(w)]);
	put(o, "0x%llx", (unsigned long long)to);
}

static const char *const arith_names[64] = {
	"add", "and", "or", "xor", "sub", "andn", "orn", "xnor", "addc", "mulx", "umul", "smul", "subc", "udivx", "udiv", "sdiv",
	"addcc", "andcc", "orcc", "xorcc", "subcc", "andncc", "orncc", "xnorcc", "addccc", NULL, "umulcc", "smulcc", "subccc",
	NULL, "udivcc", "sdivcc",
	"taddcc", "tsubcc", "taddcctv", "tsubcctv", "mulscc", NULL, NULL, NULL, /* 25…27 shifts */
	NULL, "rdpr!", "rdpr", "flushw", NULL, "sdivx", "popc", NULL,           /* 28 rd, 2c movcc, 2f movr */
	NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,                         /* 30 wr … 37 impdep2 */
	NULL, NULL, NULL, "flush", "save", "restore", NULL, NULL,               /* 38 jmpl, 39 return, 3a tcc, 3e done */
};
static const char *const priv_regs[32] = {
	"%tpc", "%tnpc", "%tstate", "%tt", "%tick", "%tba", "%pstate", "%tl", "%pil", "%cwp", "%cansave", "%canrestore",
	"%cleanwin", "%otherwin", "%wstate", "%fq", "%gl", [31] = "%ver",
};
static const char *const hpriv_regs[32] = {
	"%hpstate", "%htstate", NULL, "%hintp", NULL, "%htba", "%hver", [31] = "%hstick_cmpr",
};
static const char *const asr_names[32] = {
	"%y", NULL, "%ccr", "%asi", "%tick", "%pc", "%fprs", [16] = "%pcr", "%pic", "%dcr", "%gsr", "%softint_set",
	"%softint_clr", "%softint", "%tick_cmpr", "%stick", "%stick_cmpr",
};

static void put_special(struct out *o, const char *const names[32], unsigned int n, const char *other)
{
	if (names[n])
		put(o, "%s", names[n]);
	else
		put(o, "%s%u", other, n);
}

static void dis_shift(struct out *o, uint32_t w)
{
	static const char *const names[] = { "sll", "srl", "sra" };
	bool x = w & 0x1000;

	put(o, "%s%s %s, ", names[(w >> 19 & 0x3f) - 0x25], x ? "x" : "", regs[sparc_rs1(w)]);
	if (w & 0x2000)
		put_num(o, w & (x ? 63 : 31));
	else
		put(o, "%s", regs[w & 31]);
	put(o, ", %s", regs[sparc_rd(w)]);
}

static void dis_movcc(struct out *o, uint32_t w)
{
	unsigned int cc = (w >> 18 & 1) << 2 | (w >> 11 & 3);

	put(o, "mov%s ", (cc & 4 ? icc_names : fcc_names)[w >> 14 & 15]);
	if (cc & 4)
		put(o, "%s, ", cc == 4 ? "%icc" : cc == 6 ? "%xcc" : "%cc?");
	else
		put(o, "%%fcc%u, ", cc);
	put_rs2_or_imm(o, w, 11);
	put(o, ", %s", regs[sparc_rd(w)]);
}

static void dis_tcc(struct out *o, uint32_t w)
{
	unsigned int cc = w >> 11 & 3;

	put(o, "t%s %s, %s + ", icc_names[w >> 25 & 15], cc == 0 ? "%icc" : cc == 2 ? "%xcc" : "%cc?", regs[sparc_rs1(w)]);
	if (w & 0x2000)
		put_num(o, w & 0x7f);
	else
		put(o, "%s", regs[w & 31]);
}

/* rd/wr of ancillary, privileged and hyperprivileged registers */
static bool dis_special(struct out *o, uint32_t w)
{
	unsigned int rd = sparc_rd(w), rs1 = sparc_rs1(w);

	switch (w >> 19 & 0x3f) {
	case 0x28:
		if (rs1 == 15 && rd == 0) {
			if (w & 0x2000)
				put(o, "membar 0x%x", w & 0x7f);
			else
				put(o, "stbar");
			return true;
		}
		put(o, "rd ");
		put_special(o, asr_names, rs1, "%asr");
		break;
	case 0x29:
		put(o, "rdhpr ");
		put_special(o, hpriv_regs, rs1, "%hpr");
		break;
	case 0x2a:
		put(o, "rdpr ");
		put_special(o, priv_regs, rs1, "%pr");
		break;
	case 0x30:
		if (rd == 15 && rs1 == 0 && w & 0x2000) {
			put(o, "sir ");
			put_num(o, simm(w, 13));
			return true;
		}
		put(o, "wr %s, ", regs[rs1]);
		put_rs2_or_imm(o, w, 13);
		put(o, ", ");
		put_special(o, asr_names, rd, "%asr");
		return true;
	case 0x32:
	case 0x33:
		put(o, "%s %s, ", w & 0x80000 ? "wrhpr" : "wrpr", regs[rs1]);
		put_rs2_or_imm(o, w, 13);
		put(o, ", ");
		put_special(o, w & 0x80000 ? hpriv_regs : priv_regs, rd, w & 0x80000 ? "%hpr" : "%pr");
		return true;
	case 0x31:
		if (rd > 5)
			return false;
		put(o, "%s", (const char *const[]){ "saved", "restored", "allclean", "otherw", "normalw", "invalw" }[rd]);
		return true;
	default:
		return false;
	}
	put(o, ", %s", regs[rd]);
	return true;
}

struct fpop {
	uint16_t opf;
	const char *name;
	uint8_t s1, s2, d; /* sizes of the operands in words; 0 = not there */
};
static const struct fpop fpop1[] = {
	{ 0x01, "fmovs", 0, 1, 1 }, { 0x02, "fmovd", 0, 2, 2 }, { 0x03, "fmovq", 0, 4, 4 }, { 0x05, "fnegs", 0, 1, 1 },
	{ 0x06, "fnegd", 0, 2, 2 }, { 0x07, "fnegq", 0, 4, 4 }, { 0x09, "fabss", 0, 1, 1 }, { 0x0a, "fabsd", 0, 2, 2 },
	{ 0x0b, "fabsq", 0, 4, 4 }, { 0x29, "fsqrts", 0, 1, 1 }, { 0x2a, "fsqrtd", 0, 2, 2 }, { 0x2b, "fsqrtq", 0, 4, 4 },
	{ 0x41, "fadds", 1, 1, 1 }, { 0x42, "faddd", 2, 2, 2 }, { 0x43, "faddq", 4, 4, 4 }, { 0x45, "fsubs", 1, 1, 1 },
	{ 0x46, "fsubd", 2, 2, 2 }, { 0x47, "fsubq", 4, 4, 4 }, { 0x49, "fmuls", 1, 1, 1 }, { 0x4a, "fmuld", 2, 2, 2 },
	{ 0x4b, "fmulq", 4, 4, 4 }, { 0x4d, "fdivs", 1, 1, 1 }, { 0x4e, "fdivd", 2, 2, 2 }, { 0x4f, "fdivq", 4, 4, 4 },
	{ 0x69, "fsmuld", 1, 1, 2 }, { 0x6e, "fdmulq", 2, 2, 4 }, { 0x81, "fstox", 0, 1, 2 }, { 0x82, "fdtox", 0, 2, 2 },
	{ 0x83, "fqtox", 0, 4, 2 }, { 0x84, "fxtos", 0, 2, 1 }, { 0x88, "fxtod", 0, 2, 2 }, { 0x8c, "fxtoq", 0, 2, 4 },
	{ 0xc4, "fitos", 0, 1, 1 }, { 0xc6, "fdtos", 0, 2, 1 }, { 0xc7, "fqtos", 0, 4, 1 }, { 0xc8, "fitod", 0, 1, 2 },
	{ 0xc9, "fstod", 0, 1, 2 }, { 0xcb, "fqtod", 0, 4, 2 }, { 0xcc, "fitoq", 0, 1, 4 }, { 0xcd, "fstoq", 0, 1, 4 },
	{ 0xce, "fdtoq", 0, 2, 4 }, { 0xd1, "fstoi", 0, 1, 1 }, { 0xd2, "fdtoi", 0, 2, 1 }, { 0xd3, "fqtoi", 0, 4, 1 },
};

static bool dis_fpop1(struct out *o, uint32_t w)
{
	unsigned int opf = w >> 5 & 0x1ff;

	for (size_t i = 0; i < ARRAY_SIZE(fpop1); i++) {
		const struct fpop *f = &fpop1[i];

		if (f->opf != opf)
			continue;
		put(o, "%s ", f->name);
		if (f->s1) {
			put_freg(o, sparc_rs1(w), f->s1);
			put(o, ", ");
		}
		put_freg(o, w & 31, f->s2);
		put(o, ", ");
		put_freg(o, sparc_rd(w), f->d);
		return true;
	}
	return false;
}

static bool dis_fpop2(struct out *o, uint32_t w)
{
	unsigned int opf = w >> 5 & 0x1ff, size = opf & 3, cc = opf >> 6 & 7, cond = w >> 14 & 15;

	if (opf >= 0x51 && opf <= 0x57 && size) {
		size = size == 3 ? 4 : size;
		put(o, "fcmp%s%c %%fcc%u, ", opf & 4 ? "e" : "", "?sd?q"[size], sparc_rd(w) & 3);
		put_freg(o, sparc_rs1(w), (int)size);
		put(o, ", ");
		put_freg(o, w & 31, (int)size);
		return true;
	}
	if (!size)
		return false;
	size = size == 3 ? 4 : size;
	if ((opf & 0x3c) == 0 && (cc < 4 || cc == 4 || cc == 6)) {
		put(o, "fmov%c%s ", "?sd?q"[size], (cc & 4 ? icc_names : fcc_names)[cond]);
		if (cc & 4)
			put(o, "%s, ", cc == 4 ? "%icc" : "%xcc");
		else
			put(o, "%%fcc%u, ", cc);
	} else if ((opf & 0x1c) == 4 && rcond_names[w >> 10 & 7]) {
		size = opf & 3;
		size = size == 3 ? 4 : size;
		put(o, "fmovr%c%s %s, ", "?sd?q"[size], rcond_names[w >> 10 & 7], regs[sparc_rs1(w)]);
	} else {
		return false;
	}
	put_freg(o, w & 31, (int)size);
	put(o, ", ");
	put_freg(o, sparc_rd(w), (int)size);
	return true;
}

static bool dis_arith(struct out *o, uint32_t w)
{
	unsigned int op3 = w >> 19 & 0x3f, rd = sparc_rd(w);

	switch (op3) {
	case 0x25: case 0x26: case 0x27:
		dis_shift(o, w);
		return true;
	case 0x28: case 0x29: case 0x2a: case 0x30: case 0x31: case 0x32: case 0x33:
		return dis_special(o, w);
	case 0x2b:
		put(o, "flushw");
		return true;
	case 0x2c:
		dis_movcc(o, w);
		return true;
	case 0x2e:
		put(o, "popc ");
		put_rs2_or_imm(o, w, 13);
		put(o, ", %s", regs[rd]);
		return true;
	case 0x2f:
		if (!rcond_names[w >> 10 & 7])
			return false;
		put(o, "movr%s %s, ", rcond_names[w >> 10 & 7], regs[sparc_rs1(w)]);
		put_rs2_or_imm(o, w, 10);
		put(o, ", %s", regs[rd]);
		return true;
	case 0x34:
		return dis_fpop1(o, w);
	case 0x35:
		return dis_fpop2(o, w);
	case 0x36: case 0x37:
		put(o, "impdep%u 0x%x, %s, %s, %s", op3 - 0x35, w >> 5 & 0x1ff, regs[sparc_rs1(w)], regs[w & 31], regs[rd]);
		return true;
	case 0x38:
		put(o, "jmpl ");
		put_address(o, w);
		put(o, ", %s", regs[rd]);
		return true;
	case 0x39: case 0x3b:
		put(o, op3 == 0x39 ? "return " : "flush ");
		put_address(o, w);
		return true;
	case 0x3a:
		dis_tcc(o, w);
		return true;
	case 0x3e:
		if (rd > 1)
			return false;
		put(o, rd ? "retry" : "done");
		return true;
	}
	if (!arith_names[op3])
		return false;
	put(o, "%s %s, ", arith_names[op3], regs[sparc_rs1(w)]);
	put_rs2_or_imm(o, w, 13);
	put(o, ", %s", regs[rd]);
	return true;
}

/* fp: 0 integer register, 1/2/4 words of float register, 9 fsr, 8 prefetch */
struct memop {
	const char *name;
	uint8_t store, fp, alternate;
};
static const struct memop memops[64] = {
	{ "lduw" }, { "ldub" }, { "lduh" }, { "ldd" }, { "stw", 1 }, { "stb", 1 }, { "sth", 1 }, { "std", 1 },
	{ "ldsw" }, { "ldsb" }, { "ldsh" }, { "ldx" }, { NULL }, { "ldstub" }, { "stx", 1 }, { "swap" },
	{ "lduwa", 0, 0, 1 }, { "lduba", 0, 0, 1 }, { "lduha", 0, 0, 1 }, { "ldda", 0, 0, 1 },
	{ "stwa", 1, 0, 1 }, { "stba", 1, 0, 1 }, { "stha", 1, 0, 1 }, { "stda", 1, 0, 1 },
	{ "ldswa", 0, 0, 1 }, { "ldsba", 0, 0, 1 }, { "ldsha", 0, 0, 1 }, { "ldxa", 0, 0, 1 },
	{ NULL }, { "ldstuba", 0, 0, 1 }, { "stxa", 1, 0, 1 }, { "swapa", 0, 0, 1 },
	{ "ld", 0, 1 }, { "ldfsr", 0, 9 }, { "ldq", 0, 4 }, { "ldd", 0, 2 }, { "st", 1, 1 }, { "stfsr", 1, 9 }, { "stq", 1, 4 },
	{ "std", 1, 2 }, { NULL }, { NULL }, { NULL }, { NULL }, { NULL }, { "prefetch", 0, 8 }, { NULL }, { NULL },
	{ "lda", 0, 1, 1 }, { NULL }, { "ldqa", 0, 4, 1 }, { "ldda", 0, 2, 1 }, { "sta", 1, 1, 1 }, { NULL }, { "stqa", 1, 4, 1 },
	{ "stda", 1, 2, 1 }, { NULL }, { NULL }, { NULL }, { NULL }, { "casa" }, { "prefetcha", 0, 8, 1 }, { "casxa" }, { NULL },
};

static void put_memreg(struct out *o, uint32_t w, const struct memop *m)
{
	if (m->fp == 9)
		put(o, sparc_rd(w) ? "%%xfsr" : "%%fsr");
	else if (m->fp == 8)
		put_num(o, sparc_rd(w));
	else if (m->fp)
		put_freg(o, sparc_rd(w), m->fp);
	else
		put(o, "%s", regs[sparc_rd(w)]);
}

static void put_asi(struct out *o, uint32_t w)
{
	if (w & 0x2000)
		put(o, "%%asi");
	else
		put(o, "0x%x", w >> 5 & 0xff);
}

static bool dis_memory(struct out *o, uint32_t w)
{
	unsigned int op3 = w >> 19 & 0x3f;
	const struct memop *m = &memops[op3];

	if (!m->name)
		return false;
	if (m->fp == 9) {
		static const char *const names[2][2] = { { "ld", "ldx" }, { "st", "stx" } };

		if (sparc_rd(w) > 1)
			return false;
		put(o, "%s ", names[m->store][sparc_rd(w)]);
	} else {
		put(o, "%s ", m->name);
	}
	if (op3 == 0x3c || op3 == 0x3e) {
		put(o, "[%s]", regs[sparc_rs1(w)]);
		put_asi(o, w);
		put(o, ", %s, %s", regs[w & 31], regs[sparc_rd(w)]);
		return true;
	}
	if (m->store) {
		put_memreg(o, w, m);
		put(o, ", ");
	}
	put(o, "[");
	put_address(o, w);
	put(o, "]");
	if (m->alternate)
		put_asi(o, w);
	if (!m->store) {
		put(o, ", ");
		put_memreg(o, w, m);
	}
	return true;
}

void sparc_disassemble(uint32_t w, uint64_t pc, char text[SPARC_TEXT_SIZE])
{
	struct out o = { .text = text };
	enum sparc_kind k = sparc_kind(w);
	bool done = true;

	text[0] = 0;
	if (w == SPARC_NOP)
		put(&o, "nop");
	else if (k == SPARC_CALL)
		put(&o, "call 0x%llx", (unsigned long long)(pc + (uint64_t)sparc_disp(w, k)));
	else if (sparc_is_pcrel(k))
		dis_branch(&o, w, pc, k);
	else if (w >> 30 == 0 && (w >> 22 & 7) == 4)
		put(&o, "sethi %%hi(0x%x), %s", w << 10, regs[sparc_rd(w)]);
	else if (w >> 30 == 0 && (w >> 22 & 7) == 0)
		put(&o, "illtrap 0x%x", w & 0x3fffff);
	else if (w >> 30 == 2)
		done = dis_arith(&o, w);
	else if (w >> 30 == 3)
		done = dis_memory(&o, w);
	else
		done = false;
	if (!done) {
		o.len = 0;
		put(&o, ".word 0x%08x", w);
	}
}
