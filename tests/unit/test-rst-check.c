/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each rule on a fault seeded into a clean trace: it is found, with its record, and nothing else is. */
#include "format/rst/sparc.h"
#include "lib/tap.h"
#include "rst/check.h"
#include "rst-gen.h"

#define N 400

static struct { unsigned int rule; uint64_t recno; char text[200]; } found[64];
static unsigned int n_found;

static void report(void *arg, unsigned int rule, enum check_severity sev, uint64_t recno, const char *text)
{
	if (n_found < ARRAY_SIZE(found)) {
		found[n_found].rule = rule;
		found[n_found].recno = recno;
		snprintf(found[n_found].text, sizeof(found[0].text), "%s", text);
	}
	n_found++;
}

/* A clean trace of one cpu: header, level, producer, PREG, PAVADIFF, then the program. Returns the records. */
static size_t clean(uint8_t *recs)
{
	static const char producer[] = "gen version 1.0";
	uint8_t body[N * RST_REC_SIZE];
	uint64_t seed = 99;
	size_t n = gen_program(body, N, 213, 1, &seed), k;

	memcpy(recs, body, 2 * RST_REC_SIZE);
	rst_string_make(recs + 2 * RST_REC_SIZE, producer, strlen(producer));
	gen_hex(recs + 3 * RST_REC_SIZE, "11800000 00000016 00000000 00000000 00070000 00070000");
	for (size_t i = k = 2; i < n; i++)
		if (body[i * RST_REC_SIZE] != RST_CPU)
			memcpy(recs + (2 + k++) * RST_REC_SIZE, body + i * RST_REC_SIZE, RST_REC_SIZE);
	return k + 2;
}

static void run(const uint8_t *recs, size_t n, size_t fragment)
{
	struct check *c;

	n_found = 0;
	check_new(&c, CHECK_ALL, report, NULL);
	for (size_t i = 0; i < n; i++)
		check_record(c, recs + i * RST_REC_SIZE);
	check_end(c, fragment);
	check_free(c);
}

static void is_found(const char *what, unsigned int rule, uint64_t recno)
{
	if (!ok(n_found == 1 && found[0].rule == rule && found[0].recno == recno, "%s: rule %u at record %" PRIu64 ", nothing else", what,
		rule, recno))
		for (unsigned int i = 0; i < MIN(n_found, 5u); i++)
			printf("# rule %u at %" PRIu64 ": %s\n", found[i].rule, found[i].recno, found[i].text);
}

/* Puts a record before record `at`. */
static size_t insert(uint8_t *recs, size_t n, size_t at, const char *hex)
{
	memmove(recs + (at + 1) * RST_REC_SIZE, recs + at * RST_REC_SIZE, (n - at) * RST_REC_SIZE);
	gen_hex(recs + at * RST_REC_SIZE, hex);
	return n + 1;
}

static size_t find(const uint8_t *recs, size_t n, size_t from, bool (*is)(const uint8_t *))
{
	while (from < n && !is(recs + from * RST_REC_SIZE))
		from++;
	return from;
}
static bool is_taken(const uint8_t *r) { return r[0] == RST_INSTR && r[1] & RST_I_BT; }
static bool is_untaken(const uint8_t *r) { return r[0] == RST_INSTR && !(r[1] & RST_I_BT) && sparc_kind(rst_instr_word(r)) == SPARC_BPCC; }
static bool is_load(const uint8_t *r) { return r[0] == RST_INSTR && sparc_kind(rst_instr_word(r)) == SPARC_MEMORY; }
static bool is_add(const uint8_t *r) { return r[0] == RST_INSTR && sparc_kind(rst_instr_word(r)) == SPARC_OTHER; }

static void in_place(void)
{
	static uint8_t recs[(N + 10) * RST_REC_SIZE];
	size_t n, at;
	uint8_t *r;

#define SEED(what, rule, where, ...) \
	do { \
		n = clean(recs); \
		at = (where); \
		r = recs + at * RST_REC_SIZE; \
		__VA_ARGS__; \
		run(recs, n, 0); \
		is_found(what, rule, at); \
	} while (0)
	SEED("no header", 2, 0, r[3] = 0);
	SEED("an unknown version", 3, 0, r[2] = 30; memcpy(r + 4, "RST Header v2.30", 16));
	SEED("text and bytes of the header differ", 3, 0, memcpy(r + 4, "RST Header v2.12", 16));
	SEED("no level record", 4, 1, gen_hex(r, "14"));
	SEED("an unused bit", 8, 60, r[1] |= 0x80);
	SEED("a load without address (note)", 14, find(recs, n, 50, is_load), r[1] &= ~RST_I_EA; rst_put64(r + 16, 0));
	SEED("an add with an address", 15, find(recs, n, 50, is_add), r[1] |= RST_I_EA);
	SEED("a wrong target", 16, find(recs, n, 50, is_taken), rst_put64(r + 16, rst_instr_ea(r) + 64); n = at + 1);
	SEED("a taken branch without target", 16, find(recs, n, 50, is_taken), r[1] &= ~RST_I_EA; rst_put64(r + 16, 0); n = at + 1);
	SEED("an odd address of an untaken branch", 17, find(recs, n, 10, is_untaken), rst_put64(r + 16, 0x123450));
	SEED("a jump from nowhere", 18, find(recs, n, 80, is_add), n = at + 1; rst_put64(r + 8, 0x900000));
	SEED("annulled after no branch", 19, find(recs, n, 60, is_add), r[1] |= RST_I_AN);
	SEED("tr without TRAP", 20, find(recs, n, 60, is_add), r[1] |= RST_I_TR);
	SEED("hpriv and pr", 26, 70, r[1] |= RST_I_HPRIV | RST_I_PR);
	SEED("primA is not primD", 27, 3, r[17] = 8);
	SEED("no string names the producer", 7, 5, gen_hex(recs + 2 * RST_REC_SIZE, "0e"));
	SEED("no PAVADIFF first", 10, 5, gen_hex(recs + 4 * RST_REC_SIZE, "14"));
	SEED("a pc that is not aligned", 9, n - 1, r[15] |= 2; memmove(recs + 5 * RST_REC_SIZE, r, RST_REC_SIZE); at = 5; n = 6);
	SEED("AM set and a high address", 25, find(recs, n, 6, is_load), recs[3 * RST_REC_SIZE + 7] = 0x1e; n = at + 1);
}

static void put_in(void)
{
	static const struct { const char *what; unsigned int rule; int off; const char *hex; } t[] = {
		{ "a second header", 5, 0, "02020d25 52535420 48656164 65722076 322e3133 00000000" }, { "type 0", 5, 0, "00" },
		{ "type 1", 5, 0, "01" }, { "an unknown type", 5, 0, "28" }, { "a type above 63", 5, 0, "50" },
		{ "a broken-off string", 6, 0, "15616263" },
		{ "a closing record without NUL", 6, 0, "0e616161 61616161 61616161 61616161 61616161 61616161" },
		{ "a TRAP alone", 21, 0, "07000068 00000000 00000000 01389dc8 00000000 01389dcc" },
		{ "a trap type of 0x300", 21, 0, "07800300 00000000 00000000 01389dc8 00000000 01389dcc" },
		{ "a system call in another trap", 22, 0, "07800068 00000005 00000000 01389dc8 00000000 01389dcc" },
		{ "TRAPPING_INSTR without TRAP", 23, 0, "22100000 f4022004 00000000 01389dc8 00000000 00000000" },
		{ "an end without its beginning", 29, 0, "18000001 0000" }, { "a beginning without its end", 29, 0, "18010001 0000" },
		{ "a value of 9 bytes", 30, 0, "1a400009" }, { "a value of 0 bytes", 30, 0, "1a400000" },
		{ "a continuation of nothing", 30, 0, "1ae00000" }, { "a DMA of nothing", 31, 0, "0d01" },
		{ "entry 3 of 2", 31, 0, "19800201 00030002" }, { "register type 12", 32, 0, "09800c05" },
		{ "%g0 is not zero", 32, 0, "09800105 00000000 00000000 00000001" },
		{ "an RFS section of cache lines without them", 35, 0, "1e1f0000 00000000 00000000 00000003" },
		{ "an end of file in the middle", 37, 0, "17020300" },
	};
	static uint8_t recs[(N + 10) * RST_REC_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		size_t n = insert(recs, clean(recs), 100, t[i].hex);

		run(recs, n, 0);
		is_found(t[i].what, t[i].rule, 100);
	}
	{
		size_t n = clean(recs);

		n = insert(recs, n, 100, "0b000000 00000000 00000000 00000000 00000000 00001000");
		n = insert(recs, n, 120, "0b000000 00000000 00000000 00000000 00000000 00000fff");
		run(recs, n, 0);
		is_found("time runs back", 33, 120);
		n = insert(recs, clean(recs), 100, "13000000 00070007 00000000 00000000 00000000 00000000");
		n = insert(recs, n, 101, "13000000 00070007 00000000 00000000 00000000 00000000");
		run(recs, n, 0);
		is_found("a PAVADIFF for nothing", 11, 100);
		n = insert(recs, clean(recs), 100, "30030000 00000000 0f0b00");
		run(recs, n, 0);
		is_found("instruction bytes that are not the instruction's", 41, 101);
		n = insert(recs, n, 101, "14");
		run(recs, n, 0);
		is_found("instruction bytes that no instruction follows", 41, 100);
		n = clean(recs);
		rst_string_make(recs + 2 * RST_REC_SIZE, "ncpus=1", 7);
		n = insert(recs, n, 3, "0e67656e 20762031 00000000");
		n = insert(recs, n, 100, "09820105");
		run(recs, n, 0);
		is_found("a cpu that the trace does not have", 34, 100);
	}
}

int main(void)
{
	static uint8_t recs[(N + 10) * RST_REC_SIZE];
	size_t n = clean(recs);

	run(recs, n, 0);
	is_int(0, n_found, "the clean trace has no findings");
	if (n_found)
		printf("# rule %u at %" PRIu64 ": %s\n", found[0].rule, found[0].recno, found[0].text);
	run(recs, n, 5);
	is_found("a part of a record", 1, n);
	in_place();
	put_in();
	return done_testing();
}
