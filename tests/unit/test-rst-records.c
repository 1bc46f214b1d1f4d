/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records: every type and version round-trips, known bytes mean what they should, strings, versions, disassembly. */
#include <errno.h>
#include <stdio.h>

#include "format/rst/sparc.h"
#include "lib/tap.h"
#include "rst-gen.h"

static const unsigned int versions[] = { 102, 104, 106, 108, 109, 110, 200, 205, 209, 210, 212, 213 };

static void round_trips(void)
{
	uint64_t seed = 1;
	unsigned int bad = 0, dirty = 0, kinds = 0, loose = 0;

	for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
		for (unsigned int type = 2; type < 64; type++) {
			size_t n;

			if (!rst_rec_fields((uint8_t)type, NULL, versions[v], &n))
				continue;
			kinds += v + 1 == ARRAY_SIZE(versions);
			for (int i = 0; i < 300; i++) {
				uint8_t a[RST_REC_SIZE], b[RST_REC_SIZE];
				struct rst_rec r, r2;

				gen_random(a, (uint8_t)type, versions[v], &seed);
				bad += rst_rec_decode(a, versions[v], &r) || rst_rec_encode(&r, versions[v], b, NULL) || memcmp(a, b, RST_REC_SIZE);
				if (type != RST_HEADER && type != RST_STRDESC)
					dirty += !rst_rec_is_clean(a, versions[v]);
				/* Junk in the unused bits changes nothing. */
				for (int k = 1; k < RST_REC_SIZE; k++)
					b[k] = (uint8_t)gen_next(&seed);
				b[0] = a[0];
				if (type == RST_MEMVAL || type == RST_TRACEINFO)
					b[1] = a[1];
				if (type == RST_RFS_CW)
					b[2] = a[2];
				rst_rec_decode(b, versions[v], &r);
				loose += rst_rec_encode(&r, versions[v], a, NULL) || rst_rec_decode(a, versions[v], &r2) || memcmp(&r, &r2, sizeof(r));
			}
		}
	}
	is_int(0, bad, "every type in every version comes back bit for bit");
	is_int(0, dirty, "and is seen to be clean");
	is_int(0, loose, "junk in unused bits is ignored");
	is_int(31, kinds, "all types of 2.13 that have a layout, and ours");
}

static void known_bytes(void)
{
	uint8_t b[RST_REC_SIZE];
	struct rst_rec r;

	gen_hex(b, "02020925 52535420 48656164 65722076 322e3039 00000000");
	is_int(209, rst_header_version(b), "the header of 2.09");
	gen_hex(b, "11001908 00000008 003fef08 10022d68 5d270000 5d270000");
	rst_rec_decode(b, 209, &r);
	ok(r.u.preg.pstate == 8 && r.u.preg.prim_a == 0x5d27 && r.u.preg.prim_d == 0x5d27 && r.u.preg.cpu == 0, "PREG of 2.09");
	ok(!rst_rec_is_clean(b, 209), "its stale bytes are seen");
	gen_hex(b, "03440000 d007a04c 00000000 00010da8 00000000 ffffd25c");
	rst_rec_decode(b, 209, &r);
	ok(r.u.instr.ea_valid && r.u.instr.bt && !r.u.instr.pr && r.u.instr.instr == 0xd007a04c && r.u.instr.ea_va == 0xffffd25c, "INSTR");
	gen_hex(b, "05400177 83000000 ffffffff 6cd765cd 80000007 4d856030");
	rst_rec_decode(b, 210, &r);
	ok(r.u.tlb.is_data && r.u.tlb.index == 0x177 && r.u.tlb.unit == 2 && r.u.tlb.cpu == 3, "TLB of 2.10");
	gen_hex(b, "138c0000 05cd05cd 00000006 36000000 00000008 2197c000");
	rst_rec_decode(b, 210, &r);
	ok(r.u.pavadiff.ea_valid && r.u.pavadiff.cpu == 12 && r.u.pavadiff.icontext == 0x5cd, "PAVADIFF of 2.10");
	gen_hex(b, "070024d0 00120000 00000001 000b6d9c 00000001 000b55b4");
	rst_rec_decode(b, 210, &r);
	ok(r.u.trap.cpu == 9 && r.u.trap.ttype == 0xd0 && r.u.trap.pstate == 0x12 && r.u.trap.npc == 0x1000b55b4, "TRAP of 2.10");
	gen_hex(b, "09890101 070e0000 ffffffff 7d307c00 ffffffff 277fb031");
	rst_rec_decode(b, 210, &r);
	ok(r.u.regval.post && r.u.regval.cpu == 9 && r.u.regval.regid[1] == 14 && r.u.regval.value[0] == 0xffffffff7d307c00, "REGVAL");
	gen_hex(b, "22100000 f4022004 00000000 01389dc8 0 0");
	rst_rec_decode(b, 213, &r);
	ok(!r.u.trapping.hpriv && !r.u.trapping.iftrap && r.u.trapping.ea_va_valid && r.u.trapping.instr == 0xf4022004, "TRAPPING_INSTR");
}

/* Records of real traces, with what they say, field by field ("name=hex …"); encoding gives them back but for unused bits. */
static void known_fields(void)
{
	static const struct { unsigned int version; const char *hex, *fields; bool stale; } t[] = {
		{ 209, "13800f18 5d275d27 00000527 00000000 00000527 00000000",
		  "ea_valid=1 cpu=0 icontext=5d27 dcontext=5d27 pc_pa_va=52700000000 ea_pa_va=52700000000", true },
		{ 209, "03000000 ba076001 00000000 00010da4", "ea_valid=0 bt=0 cpu=0 instr=ba076001 pc_va=10da4 ea_va=0", false },
		{ 209, "03000000 80a74008 00000000 00010dac", "instr=80a74008 pc_va=10dac an=0 tr=0 pr=0", false },
		{ 209, "03440000 06bffff4 00000000 00010db0 00000000 00010d80", "ea_valid=1 bt=1 instr=6bffff4 pc_va=10db0 ea_va=10d80", false },
		{ 209, "03000000 01000000 00000000 00010db4", "bt=0 instr=1000000 pc_va=10db4", false },
		{ 210, "04020000", "subtype=2 level=0 val=0 time=0", false },
		{ 210, "0b000000 00000000 00000000 00000000 00000239 503ca9ac", "cpu=0 timestamp=239503ca9ac", false },
		{ 210, "11820000 00000012 00000000 00000000 05cd05cd 05cd05cd",
		  "asi=82 trap_lvl=0 pstate=12 cpu=0 primA=5cd secA=5cd primD=5cd secD=5cd", false },
		{ 210, "05000000 00000000 00000001 000ea5cd e0000007 36000020", "demap=0 type=0 index=0 tag=1000ea5cd data=e000000736000020", false },
		{ 210, "03403000 ca23a937 00000001 000eb7e8 ffffffff 29dfbae8", "cpu=c ea_valid=1 instr=ca23a937 pc_va=1000eb7e8 ea_va=ffffffff29dfbae8", false },
		{ 210, "036c2400 81e80000 00000001 000b6d9c 00000000 01001a00", "cpu=9 ea_valid=1 tr=1 pr=1 bt=1 instr=81e80000 ea_va=1001a00", false },
		{ 210, "03442400 83f00000 00000000 01001a60 00000001 000b55b4", "cpu=9 ea_valid=1 bt=1 pr=0 instr=83f00000 ea_va=1000b55b4", false },
		{ 213, "04020000 00000000 00000000 43fbc128 322e3133 00000c25", "subtype=2 level=0 time=43fbc128", true },
		{ 213, "09800305 1f000000 003e0023 20000607", "postInstr=1 cpu=0 regtype[0]=3 regtype[1]=5 regid[0]=1f value[0]=3e002320000607", false },
		{ 213, "03200000 f4022004 00000000 01389dc8", "tr=1 ea_valid=0 instr=f4022004 pc_va=1389dc8", false },
		{ 213, "07000068 00000000 00000000 01389dc8 00000000 01389dcc", "is_async=0 tl=0 cpu=0 ttype=68 syscall=0 pc=1389dc8 npc=1389dcc", false },
		{ 213, "03480000 0a4ffff4 00000000 01389c94 00000000 01389c9c", "ea_valid=1 pr=1 bt=0 instr=a4ffff4 ea_va=1389c9c", false },
	};
	static struct rst_string_joiner j;
	uint8_t b[RST_REC_SIZE], back[RST_REC_SIZE];
	struct rst_rec r;

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		const char *s = t[i].fields;
		bool good = true;

		gen_hex(b, t[i].hex);
		while (*s) {
			char name[24] = "";
			unsigned long long v = 0;
			int n = 0;
			const struct rst_field *f;

			if (sscanf(s, "%23[^ =]=%llx %n", name, &v, &n) < 2 || !n)
				break;
			f = rst_field_find(b[0], b, t[i].version, name);
			if (!f || rst_field_get(f, b) != v) {
				printf("# %s\n", name);
				good = false;
			}
			s += n;
		}
		rst_rec_decode(b, t[i].version, &r);
		good &= !*s && !rst_rec_encode(&r, t[i].version, back, NULL) && (t[i].stale || !memcmp(b, back, sizeof(b)));
		good &= rst_rec_is_clean(b, t[i].version) == !t[i].stale;
		ok(good, "%u.%02u %s: %s", t[i].version / 100, t[i].version % 100, t[i].hex, t[i].fields);
	}
	gen_hex(b, "15646174 653d3230 30362d30 322d3231 5f31373a 34303a35");
	ok(!rst_string_join(&j, b), "a string goes on");
	gen_hex(b, "0e360074");
	ok(rst_string_join(&j, b) && !strcmp(j.text, "date=2006-02-21_17:40:56"), "and ends at its NUL: %s", j.text);
}

/* Field values and the bytes they make, of 2.13. */
static void made_bytes(void)
{
	struct rst_rec r[] = {
		{ RST_TLB, { .tlb = { .index = 12, .unit = 1, .cpu = 593, .tag = 0xffd00000, .data = 0xc000000000e00064 } } },
		{ RST_TLB, { .tlb = { .is_data = 1, .index = 137, .unit = 2, .tag = 0x30016054000, .data = 0x8000000066cd4036 } } },
		{ RST_PREG, { .preg = { .asi = 0x80, .traplevel = 1, .traptype = 13, .pstate = 0x16, .cpu = 1023, .prim_a = 0x598,
					.prim_d = 0x598 } } },
		{ RST_PAVADIFF, { .pavadiff = { .ea_valid = 1, .cpu = 347, .icontext = 0x598, .dcontext = 0x598, .pc_pa_va = 0x1300000,
						.ea_pa_va = 0xff00768000 } } },
		{ RST_INSTR, { .instr = { .ea_valid = 1, .hpriv = 1, .cpu = 347, .instr = 0xde0fbfe8, .pc_va = 0xdcba4fcc, .ea_va = 0x1047e8 } } },
		{ RST_TRAPPING_INSTR, { .trapping = { .hpriv = 1, .ea_va_valid = 1, .cpu = 347, .instr = 0xde0fbfe8, .pc_va = 0x4350fc00,
						      .ea_va = 0x3141590 } } },
		{ RST_TRAP, { .trap = { .is_async = 1, .tl = 1, .cpu = 2, .ttype = 76, .pstate = 0x16, .pc = 0x3643b8, .npc = 0x3643bc } } },
	};
	static const char *const want[] = {
		"0500000c 51900000 00000000 ffd00000 c0000000 00e00064", "05400089 80000000 00000300 16054000 80000000 66cd4036",
		"11800000 010d0016 ffc00000 00000000 05980000 05980000", "13db4000 05980598 00000000 01300000 000000ff 00768000",
		"03506d40 de0fbfe8 00000000 dcba4fcc 00000000 001047e8", "229056c0 de0fbfe8 00000000 4350fc00 00000000 03141590",
		"0781084c 00160000 00000000 003643b8 00000000 003643bc",
	};
	uint8_t b[RST_REC_SIZE], w[RST_REC_SIZE];
	const char *bad = "";

	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		gen_hex(w, want[i]);
		ok(!rst_rec_encode(&r[i], 213, b, NULL) && !memcmp(b, w, sizeof(b)), "made: %s", want[i]);
	}
	rst_header_make(b, 213);
	gen_hex(w, "02020d25 52535420 48656164 65722076 322e3133 00000000");
	ok(!memcmp(b, w, sizeof(b)), "made: the header of 2.13");
	r[4].u.instr.cpu = 1024;
	is_int(-ERANGE, rst_rec_encode(&r[4], 213, b, &bad), "cpu 1024 does not fit");
	is_str("cpu", bad, "and is named");
}

static void strings(void)
{
	static struct rst_string_joiner j;
	uint8_t recs[400 * RST_REC_SIZE], w[RST_REC_SIZE];
	char text[9000];
	unsigned int bad = 0;

	rst_string_make(recs, "hex digits F-0: FEDCBA9876543210", 32);
	gen_hex(w, "15686578 20646967 69747320 462d303a 20464544 43424139");
	ok(!memcmp(recs, w, sizeof(w)), "STRCONT of a long string");
	gen_hex(w, "0e383736 35343332 31300000 00000000 00000000 00000000");
	ok(!memcmp(recs + RST_REC_SIZE, w, sizeof(w)), "STRDESC of a long string");
	for (size_t len = 0; len <= RST_MAX_STRING; len += len < 100 ? 1 : 991) {
		size_t n = rst_string_n_recs(len), closed = 0;

		memset(text, 'x', len);
		text[len] = 0;
		rst_string_make(recs, text, len);
		for (size_t i = 0; i < n; i++)
			closed += rst_string_join(&j, recs + i * RST_REC_SIZE);
		bad += closed != 1 || strcmp(j.text, text) || j.no_nul || j.too_long || n != (len + 23) / 23;
	}
	is_int(0, bad, "strings of all lengths come back, 23 characters in two records");
	for (int i = 0; i < 400; i++)
		rst_string_join(&j, recs);
	ok(j.too_long && j.len == RST_MAX_STRING, "a string without end is cut");
}

static void sparc(void)
{
	static const struct { uint32_t w; uint64_t pc; const char *text; } t[] = {
		{ 0x83307001, 0, "srlx %g1, 1, %g1" }, { 0x01000000, 0, "nop" }, { 0x81e80000, 0, "restore %g0, %g0, %g0" },
		{ 0x9de3bf50, 0, "save %sp, -0xb0, %sp" }, { 0x81c0c002, 0, "jmpl %g3 + %g2, %g0" }, { 0x83f00000, 0, "retry" },
		{ 0x81f00000, 0, "done" }, { 0x91d02040, 0, "ta %icc, %g0 + 0x40" }, { 0xd073a87f, 0, "stx %o0, [%sp + 0x87f]" },
		{ 0xc4008000 | 0x2000 | 0xf0, 0, "lduw [%g2 + 0xf0], %g2" }, { 0x7ffffff0, 0x1000, "call 0xfc0" },
		{ 0x06bffff4, 0x10db0, "bl 0x10d80" }, { 0x82102000 | 0xad, 0, "or %g0, 0xad, %g1" }, { 0x00000000, 0, "illtrap 0x0" },
		{ 0x8143e00a, 0, "membar 0xa" }, { 0xc8d80000, 0, "ldxa [%g0 + %g0]0x0, %g4" },
	};
	char text[SPARC_TEXT_SIZE];
	uint64_t seed = 7;
	size_t longest = 0;

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		sparc_disassemble(t[i].w, t[i].pc, text);
		ok(!strcmp(t[i].text, text), "%08x is %s", t[i].w, text);
	}
	for (int i = 0; i < 200000; i++) {
		sparc_disassemble((uint32_t)gen_next(&seed), gen_next(&seed), text);
		longest = MAX(longest, strlen(text));
	}
	ok(longest > 20 && longest < SPARC_TEXT_SIZE - 1, "every word has a text that fits (longest %zu)", longest);
}

static void versions_known(void)
{
	is_int(0, rst_version_compare(213, 213), "the same version");
	is_int(2, rst_version_compare(104, 107), "1.4 and 1.7 are partly compatible");
	is_int(0, rst_version_compare(110, 208), "1.10 to 2.08 are one range");
	is_int(4, rst_version_compare(103, 213), "1.3 and 2.13 are not compatible");
	is_int(RST_PREG, rst_type_of_name("context"), "the old name of PREG");
	is_str("context", rst_type_name(RST_PREG, 204), "by version");
	is_str("preg", rst_type_name(RST_PREG, 205), "by version");
	ok(rst_addr_is_marker(0x31415921) && !rst_addr_is_marker(0x31415920), "no-address marks");
}

int main(void)
{
	round_trips();
	known_bytes();
	known_fields();
	made_bytes();
	strings();
	sparc();
	versions_known();
	return done_testing();
}
