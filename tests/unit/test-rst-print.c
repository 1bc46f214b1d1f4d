/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lines of the format's manual: the records they were printed from, made anew, print the same (runs of blanks aside). */
#include "format/rst/sparc.h"
#include "lib/tap.h"
#include "rst/print.h"

/* Instruction words, from their parts. */
#define ARI(op3, rd, rs1, rs2) (0x80000000u | (rd) << 25 | (op3) << 19 | (rs1) << 14 | (rs2))
#define ARI_I(op3, rd, rs1, imm) (ARI(op3, rd, rs1, 0x2000u) | ((uint32_t)(imm) & 0x1fff))
#define MEM(op3, rd, rs1, rs2) (ARI(op3, rd, rs1, rs2) | 0x40000000u)
#define MEM_I(op3, rd, rs1, imm) (ARI_I(op3, rd, rs1, imm) | 0x40000000u)
#define BPCC(a, cond, p, from, to) \
	((a) << 29 | (cond) << 25 | 1u << 22 | (p) << 19 | ((uint32_t)((int64_t)((to) - (from)) / 4) & 0x7ffff))
#define CALL(from, to) (1u << 30 | ((uint32_t)((int64_t)((to) - (from)) / 4) & 0x3fffffff))
enum { g0, g1, g2, g3, g4, g5, g7 = 7, o0 = 8, o2 = 10, o4 = 12, sp = 14, i0 = 24, i1 = 25 };

static struct printer p;
static uint64_t recno;

static void begin(unsigned int version)
{
	static const struct print_opts o;

	printer_done(&p);
	printer_init(&p, &o, version);
}

static void squeeze(char *s)
{
	char *to = s;

	for (; *s; s++)
		if (*s != '\n' && !(*s == ' ' && (s[1] == ' ' || s[1] == '\n' || !s[1])))
			*to++ = *s;
	*to = 0;
}

static void line(const uint8_t *rec, const char *want)
{
	char got[600];
	const char *text = printer_line(&p, recno++, rec);

	snprintf(got, sizeof(got), "%s", text + strspn(text, " "));
	squeeze(got);
	if (!ok(!strcmp(want, got), "%s", want))
		printf("# got %s\n", got);
}

static void rec_line(const struct rst_rec *r, const char *want)
{
	uint8_t b[RST_REC_SIZE];

	rst_rec_encode(r, p.version, b, NULL);
	line(b, want);
}

enum { EA = 1, BT = 2, TR = 4, AN = 8, PR = 16 };
static void instr(uint32_t w, uint64_t pc, uint64_t ea, unsigned int f, const char *want)
{
	struct rst_rec r = { RST_INSTR, { .instr = { .instr = w, .pc_va = pc, .ea_va = ea, .ea_valid = !!(f & EA), .bt = !!(f & BT),
						    .tr = !!(f & TR), .an = !!(f & AN), .pr = !!(f & PR) } } };

	rec_line(&r, want);
}

static void strings(const char *const *texts, const char *const *want, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t recs[8 * RST_REC_SIZE];
		size_t k, len = strlen(texts[i]);

		rst_string_make(recs, texts[i], len);
		for (k = 0; k + 1 < rst_string_n_recs(len); k++, recno++)
			printer_line(&p, recno, recs + k * RST_REC_SIZE);
		/* Joining is done by printing, so only once. */
		{
			char got[600];

			snprintf(got, sizeof(got), "%s", printer_line(&p, recno++, recs + k * RST_REC_SIZE));
			squeeze(got);
			ok(!strcmp(want[i], got + strspn(got, " ")), "%s (%s)", want[i], got);
		}
	}
}

static void translation(void)
{
	struct rst_rec r = { RST_PAVADIFF, { .pavadiff = { .ea_valid = 1, .pc_pa_va = 0xffffffffff400000, .ea_pa_va = 0xffffffffff400000 } } };

	begin(208);
	recno = 8896;
	rec_line(&r, "8896 pavadiff: cpuid=0icontext=0 dcontext=0 pc_pa_va=0xffffffffff400000 ea_pa_va=0xffffffffff400000 ea_valid=1");
	instr(MEM_I(0, g2, g2, 0xf0), 0x1085be0, 0x14000f0, EA | PR, "8897 instr : cpuid=0 p [0x0000000001085be0] lduw [%g2 + 0xf0], %g2 [0x00000000014000f0]");
	instr(ARI_I(0x26, g2, g2, 0xb), 0x1085be4, 0, PR, "8898 instr : cpuid=0 p [0x0000000001085be4] srl %g2, 0xb, %g2");
	instr(ARI_I(0x14, g0, g2, 0), 0x1085be8, 0, PR, "8899 instr : cpuid=0 p [0x0000000001085be8] subcc %g2, 0, %g0");
	instr(BPCC(1u, 1u, 1u, 0x1085bec, 0x1085c00), 0x1085bec, 0x1085c00, EA | BT | PR, "8900 instr : cpuid=0 p [0x0000000001085bec] bpe,a,pt %icc, 0x1085c00 T [0x0000000001085c00]");
	r.u.pavadiff.ea_pa_va = 0xfffffd5fe5c08000;
	rec_line(&r, "8901 pavadiff: cpuid=0icontext=0 dcontext=0 pc_pa_va=0xffffffffff400000 ea_pa_va=0xfffffd5fe5c08000 ea_valid=1");
	instr(MEM_I(2, g2, g7, 0x188), 0x1085bf0, 0x2a100225ec8, EA | PR, "8902 instr : cpuid=0 p [0x0000000001085bf0] lduh [%g7 + 0x188], %g2 [0x000002a100225ec8]");
	instr(ARI_I(0x27, i1, g2, 0), 0x1085c00, 0, PR, "8903 instr : cpuid=0 p [0x0000000001085c00] sra %g2, 0, %i1");
	instr(CALL(0x1085c04, 0x1032420), 0x1085c04, 0x1032420, EA | BT | PR, "8904 instr : cpuid=0 p [0x0000000001085c04] call 0x1032420 T [0x0000000001032420]");
	instr(ARI(0x3d, g0, g0, g0), 0x1085c08, 0, PR, "8905 instr : cpuid=0 p [0x0000000001085c08] restore %g0, %g0, %g0");
}

static void translation_1x(void)
{
	struct rst_rec r = { RST_PAVADIFF, { .pavadiff = { .icontext = 571, .pc_pa_va = 0x2c0800000, .ea_pa_va = UINT64_MAX } } };

	begin(107);
	recno = 3;
	rec_line(&r, "3 pavadiff: context=571 cpu=0 pc_pa_va=0x00000002c0800000 ((ea_pa_va=0xffffffffffffffff)) ea_valid=0");
	instr(ARI_I(0x26, i0, i1, 0), 0x10050f144, 0, 0, "4 instr : u [0x000000010050f144] srl %i1, 0, %i0");
	instr(ARI(2, g2, g3, g2), 0x10050f148, 0, 0, "5 instr : u [0x000000010050f148] or %g3, %g2, %g2");
	instr(ARI_I(0x25, g3, i0, 2), 0x10050f14c, 0, 0, "6 instr : u [0x000000010050f14c] sll %i0, 2, %g3");
	r.u.pavadiff.ea_valid = 1;
	r.u.pavadiff.ea_pa_va = 0x2c0800000;
	rec_line(&r, "7 pavadiff: context=571 pc_pa_va=0x00000002c0800000 ea_pa_va=0x00000002c0800000 ea_valid=1");
	instr(MEM(8, g3, g3, g2), 0x10050f150, 0x10050e390, EA, "8 instr : u [0x000000010050f150] ldsw [%g3 + %g2], %g3 [0x000000010050e390]");
	instr(ARI(0x38, g0, g3, g2), 0x10050f154, 0, BT, "9 instr : u [0x000000010050f154] jmpl %g3 + %g2, %g0 T");
	instr(SPARC_NOP, 0x10050f158, 0, 0, "10 instr : u [0x000000010050f158] nop");
}

static void tlb(uint8_t data, uint8_t valid, uint16_t index, uint64_t tag, uint64_t tte, const char *want)
{
	struct rst_rec r = { RST_TLB, { .tlb = { .is_data = data, .valid = valid, .index = index, .tag = tag, .data = tte } } };

	rec_line(&r, want);
}

static void first_records(void)
{
	static const char *const texts[] = { "date=00-06-26", "host=bigc", "ramsize=1024M\n", "tlbsize=2048", "nwins=8", "cpufreq=600000000",
					     "mpsteps=200" };
	static const char *const want[] = { "1 string : string=date=00-06-26", "2 string : string=host=bigc", "3 string : string=ramsize=1024M",
					    "4 string : string=tlbsize=2048", "5 string : string=nwins=8", "6 string : string=cpufreq=600000000",
					    "7 string : string=mpsteps=200" };
	struct rst_rec cpu = { RST_CPU, { .cpu = { .timestamp = 0x45a318a1df } } };
	struct rst_rec preg = { RST_PREG, { .preg = { .asi = 0x82, .last_context = 0x120, .pstate = 0x12, .prim_d = 0x120, .sec_d = 0x120 } } };

	begin(105);
	recno = 1;
	strings(texts, want, ARRAY_SIZE(texts));
	rec_line(&cpu, "8 cpu : cpu=0 timestamp=0x45a318a1df");
	tlb(0, 0, 0, 0xffd00000, 0xa000000000e00064, "9 tlb : demap=0 type=0 valid=0 index=0 state=0x0000 context=0x0000 tag=0x00000000ffd00000 data=0xa000000000e00064 pa=0xe00000");
	tlb(0, 0, 1, 0xffd10000, 0xa000000000e10064, "10 tlb : demap=0 type=0 valid=0 index=1 state=0x0000 context=0x0000 tag=0x00000000ffd10000 data=0xa000000000e10064 pa=0xe10000");
	recno = 4103;
	tlb(1, 1, 2046, 0x3a68b310f, 0xe00010000c000032, "4103 tlb : demap=0 type=1 valid=1 index=2046 state=0x0000 context=0x110f tag=0x00000003a68b310f data=0xe00010000c000032 pa=0xc000000");
	tlb(1, 0, 2047, 0x3a9fc7115, 0xe000000008c00032, "4104 tlb : demap=0 type=1 valid=0 index=2047 state=0x0000 context=0x1115 tag=0x00000003a9fc7115 data=0xe000000008c00032 pa=0x8c00000");
	cpu.u.cpu.cpu = 1077781320;
	rec_line(&cpu, "4105 cpu : cpu=1077781320 timestamp=0x45a318a1df");
	rec_line(&preg, "4106 context : asi=0x0082 last_context=0x0120 trap_lvl=0x00 trap_type=0x00 pstate=0x0012 primA=0x0000 secA=0x0000 primD=0x0120 secD=0x0120");
	instr(ARI(0, o0, i1, o2), 0x10087ec18, 0, 0, "4107 instr : u [0x000000010087ec18] add %i1, %o2, %o0");
	instr(MEM(1, g3, o2, o4), 0x10087ec1c, 0x101b7a7ba & 0x1b7a7ba, EA, "4108 instr : u [0x000000010087ec1c] ldub [%o2 + %o4], %g3 [0x0000000001b7a7ba]");
	instr(ARI(0x14, g0, g3, g2), 0x10087ec20, 0, 0, "4109 instr : u [0x000000010087ec20] subcc %g3, %g2, %g0");
	instr(BPCC(1u, 2u, 0u, 0x10087ec24, 0x10087ec30), 0x10087ec24, 0x10087ec30, EA | BT, "4110 instr : u [0x000000010087ec24] bple,a,pn %icc, 0x10087ec30 T [0x000000010087ec30]");
	recno = 4648;
	instr(SPARC_NOP, 0x10000cb4, 0, PR | AN, "4648 instr : p [0x0000000010000cb4] nop an");
	tlb(0, 0, 1090, 0x100b2a120, 0x8000000003756020, "4649 tlb : demap=0 type=0 valid=0 index=1090 state=0x0000 context=0x0120 tag=0x0000000100b2a120 data=0x8000000003756020 pa=0x3756000");
	instr(MEM(0x1e, g5, g0, g0) | 0x54 << 5, 0x10000cb8, 0, PR, "4650 instr : p [0x0000000010000cb8] stxa %g5, [%g0 + %g0]0x54");
	preg.u.preg.last_context = 0;
	rec_line(&preg, "4651 context : asi=0x0082 last_context=0x0000 trap_lvl=0x00 trap_type=0x00 pstate=0x0012 primA=0x0000 secA=0x0000 primD=0x0120 secD=0x0120");
	instr(0x83f00000, 0x10000cbc, 0x100b2bed0, EA | BT | PR, "4652 instr : p [0x0000000010000cbc] retry T [0x0000000100b2bed0]");
	instr(ARI(2, g2, g0, o0), 0x100b2bed0, 0, PR, "4653 instr : p [0x0000000100b2bed0] or %g0, %o0, %g2");
}

static void patching(void)
{
	struct rst_rec patch = { RST_PATCH, { .patch = { .is_begin = 1, .id = 1, .length = 2, .descr = "atrPCdAZ" } } };
	struct rst_rec preg = { .rtype = RST_PREG };
	struct rst_rec pava = { RST_PAVADIFF, { .pavadiff = { .pc_pa_va = 0x3673c0000, .ea_pa_va = UINT64_MAX } } };

	begin(105);
	recno = 1418;
	instr(ARI_I(0, g4, g4, 1), 0x10048e9b8, 0, TR, "1418 instr : u [0x000000010048e9b8] add %g4, 1, %g4 tr");
	rec_line(&patch, "1419 patch : isbegin=1 rewindrecs=0 id=1 length=2 descr=atrPCdAZ");
	instr(ARI_I(0x38, g1, g2, 0), 0x10048e9bc, 0x78404780, EA | BT, "1420 instr : u [0x000000010048e9bc] jmpl %g2 + 0, %g1 T [0x0000000078404780]");
	instr(SPARC_NOP, 0x10048e9c0, 0, 0, "1421 instr : u [0x000000010048e9c0] nop");
	patch.u.patch.is_begin = 0;
	rec_line(&patch, "1422 patch : isbegin=0 rewindrecs=0 id=1 length=2 descr=atrPCdAZ");
	rec_line(&preg, "1423 context : asi=0x0000 last_context=0x0000 trap_lvl=0x00 trap_type=0x00 pstate=0x0000 primA=0x0000 secA=0x0000 primD=0x0000 secD=0x0000");
	rec_line(&pava, "1424 pavadiff: context=0 pc_pa_va=0x00000003673c0000 ((ea_pa_va=0xffffffffffffffff)) ea_valid=0");
	instr(ARI_I(0x3c, sp, sp, -0xb0), 0x78404780, 0, 0, "1425 instr : u [0x0000000078404780] save %sp, -0xb0, %sp");
}

static void system_call(void)
{
	struct rst_rec t = { RST_TRAP, { .trap = { .ttype = 0x140, .pstate = 0x12, .syscall = 0xad } } };

	begin(208);
	recno = 86032;
	instr(MEM_I(0xe, o0, sp, 0x87f), 0xffffffff7dfa34d8, 0xffffffff7fff0910, EA, "86032 instr : cpuid=0 u [0xffffffff7dfa34d8] stx %o0, [%sp + 0x87f] [0xffffffff7fff0910]");
	instr(ARI_I(2, g1, g0, 0xad), 0xffffffff7dfa34dc, 0, 0, "86033 instr : cpuid=0 u [0xffffffff7dfa34dc] or %g0, 0xad, %g1");
	rec_line(&t, "86034 trap : cpuid=0 is_async=0 async==0 tl=0 ttype=0x140 pstate=0x012 syscall=0x00ad");
	instr(0x91d02040, 0xffffffff7dfa34e0, 0x1002800, EA | BT | TR | PR, "86035 instr : cpuid=0 p [0xffffffff7dfa34e0] ta %icc, %g0 + 0x40 T [0x0000000001002800] tr");
}

static void heading(void)
{
	static const char *const texts[] = { "Blaze [ rstracer.so ]", "rstracer=V1.4",
		"rstracer [compiled against Blz3.48 - Excal 5.8 RW MP ||Disk API=[Trace,Timing]]", "date=2001-04-05_01:51:56", "host=bigc",
		"<blazeinfo>", "blz::version=3.49 - Excal 5.8 RW MP ||Disk API=[Trace,Timing]", "blz::ncpus=1", "blz::ram=1024M " };
	static const char *const want[] = { "1 strdesc : \"Blaze [ rstracer.so ]\"", "2 strdesc : \"rstracer=V1.4\"",
		"6 strdesc : \"rstracer [compiled against Blz3.48 - Excal 5.8 RW MP ||Disk API=[Trace,Timing]]\"",
		"8 strdesc : \"date=2001-04-05_01:51:56\"", "9 strdesc : \"host=bigc\"", "10 strdesc : \"<blazeinfo>\"",
		"13 strdesc : \"blz::version=3.49 - Excal 5.8 RW MP ||Disk API=[Trace,Timing]\"", "14 strdesc : \"blz::ncpus=1\"",
		"15 strdesc : \"blz::ram=1024M \"" };
	AUTO_STRBUF banner = STRBUF_INIT;
	uint8_t b[RST_REC_SIZE];

	begin(108);
	rst_header_make(b, 108);
	recno = 0;
	line(b, "0 header : majorVer=1 minorVer=8 RST Header v1.8");
	strings(texts, want, ARRAY_SIZE(texts));
	printer_banner(&banner, "stdin");
	ok(!strncmp(strbuf_str(&banner), "RST trace format (stdin)\n================\n", 42), "the banner");
}

int main(void)
{
	translation();
	translation_1x();
	first_records();
	patching();
	system_call();
	heading();
	printer_done(&p);
	return done_testing();
}
