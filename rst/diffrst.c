/* SPDX-License-Identifier: GPL-3.0-or-later */
/* diffrst: two traces record by record; the pairs that differ go to a trace of their own. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "rst/cli.h"
#include "rst/print.h"

static const char usage[] =
"Usage: diffrst [options] A B\n"
"Compare instruction traces.\n"
"  [-allowdiff WHAT]       ihash, timestamp, ntbranchea or cpuid: not a difference; may be given again\n"
"  -o FILE                 differing pairs as a trace (default diff.rst; - for none)\n"
"  -m N                    print at most N pairs as text (default 10)\n"
"  -h, --help              this text\n"
"  -v, --version           the version\n";

enum { ALLOW_IHASH = 1, ALLOW_TIMESTAMP = 2, ALLOW_NTBRANCHEA = 4, ALLOW_CPUID = 8 };
static const char *const allow_names[] = { "ihash", "timestamp", "ntbranchea", "cpuid" };

struct opts {
	unsigned int allow;
	const char *a, *b, *out;
	uint64_t max;
};

/* The record with all that does not count set to 0. */
static void normal(uint8_t *to, const uint8_t *rec, unsigned int version, const struct opts *o)
{
	const struct rst_field *f;

	memcpy(to, rec, RST_REC_SIZE);
	if (rec[0] == RST_INSTR && !(rec[1] & RST_I_EA))
		rst_put64(to + 16, 0);
	if (rec[0] == RST_PAVADIFF && !(rec[1] & 0x80))
		rst_put64(to + 16, 0);
	if (o->allow & ALLOW_IHASH && (f = rst_field_find(rec[0], rec, version, "ihash")))
		rst_field_set(f, to, 0);
	if (o->allow & ALLOW_TIMESTAMP && rec[0] == RST_CPU)
		rst_put64(to + 16, 0);
	if (o->allow & ALLOW_TIMESTAMP && rec[0] == RST_TRACEINFO)
		rst_put64(to + 8, 0);
	if (o->allow & ALLOW_CPUID)
		rst_rec_set_cpu(to, version, 0);
}

static bool same(const uint8_t *a, unsigned int va, const uint8_t *b, unsigned int vb, const struct opts *o)
{
	uint8_t x[RST_REC_SIZE], y[RST_REC_SIZE];
	uint64_t pc = rst_instr_pc(a), ea, eb;

	normal(x, a, va, o);
	normal(y, b, vb, o);
	if (!memcmp(x, y, RST_REC_SIZE))
		return true;
	/* An untaken branch: pc + 4 in one, pc + 8 in the other. */
	if (!(o->allow & ALLOW_NTBRANCHEA) || a[0] != RST_INSTR || a[1] & RST_I_BT || memcmp(x, y, 16))
		return false;
	ea = rst_instr_ea(x);
	eb = rst_instr_ea(y);
	return (ea == pc + 4 && eb == pc + 8) || (ea == pc + 8 && eb == pc + 4);
}

static int put_pair(struct cli_out *co, uint64_t recno, const uint8_t *a, const uint8_t *b)
{
	uint8_t recs[4 * RST_REC_SIZE];
	char text[40];
	int len = snprintf(text, sizeof(text), "Rec# %" PRIu64, recno);
	size_t n = rst_string_n_recs((size_t)len);

	rst_string_make(recs, text, (size_t)len);
	if (a)
		memcpy(recs + n++ * RST_REC_SIZE, a, RST_REC_SIZE);
	if (b)
		memcpy(recs + n++ * RST_REC_SIZE, b, RST_REC_SIZE);
	return cli_out_write(co, recs, n);
}

static int compare(const struct opts *o, struct cli_in *ca, struct cli_in *cb, struct cli_out *co, uint64_t *total)
{
	struct print_opts po = { .fields = false };
	struct printer pa, pb;
	int rc = 0;
	bool first = true, has_out = strcmp(o->out, "-");

	for (;;) {
		const uint8_t *a = cli_next(ca), *b = cli_next(cb);

		if (first && !(rc = printer_init(&pa, &po, ca->version)))
			rc = printer_init(&pb, &po, cb->version);
		if (first && !rc && has_out && a)
			rc = cli_out_write(co, a, 1);
		first = false;
		if (rc || (!a && !b))
			break;
		if (a && b && same(a, ca->version, b, cb->version, o)) {
			printer_note(&pa, a);
			printer_note(&pb, b);
			continue;
		}
		if (++*total <= o->max) {
			printf("< %s", a ? printer_line(&pa, ca->recno - 1, a) : "(end)\n");
			printf("> %s", b ? printer_line(&pb, cb->recno - 1, b) : "(end)\n");
		}
		if (has_out)
			rc = put_pair(co, MAX(ca->recno, cb->recno) - 1, a, b);
	}
	printer_done(&pa);
	printer_done(&pb);
	printf("%" PRIu64 " of %" PRIu64 " records differ\n", *total, MAX(ca->recno, cb->recno));
	return rc;
}

static int allow(struct opts *o, const char *what)
{
	unsigned int k = 0;

	while (k < ARRAY_SIZE(allow_names) && strcmp(what, allow_names[k]))
		k++;
	o->allow |= k < ARRAY_SIZE(allow_names) ? 1u << k : 0;
	return k < ARRAY_SIZE(allow_names) ? 0 : -EINVAL;
}

static bool say_and_end(const char *f)
{
	if (!strcmp(f, "-h") || !strcmp(f, "-help"))
		return fputs(usage, stdout) >= 0;
	return (!strcmp(f, "-v") || !strcmp(f, "-version")) && printf("diffrst (opjit) %s\n", PACKAGE_VERSION) > 0;
}

static int parse(struct opts *o, int argc, char **argv)
{
	*o = (struct opts){ .out = "diff.rst", .max = 10 };
	for (int i = 1; i < argc; i++) {
		const char *f = argv[i];

		if (!strncmp(f, "--", 2) && f[2])
			f++;
		if (say_and_end(f)) {
			exit(0);
		} else if (!strcmp(f, "-allowdiff") && argv[i + 1]) {
			if (allow(o, argv[++i]))
				return -EINVAL;
		} else if (!strcmp(f, "-o") && argv[i + 1]) {
			o->out = argv[++i];
		} else if (!strcmp(f, "-m") && argv[i + 1]) {
			if (util_parse_u64(argv[++i], 10, UINT64_MAX, &o->max))
				return -EINVAL;
		} else if (f[0] == '-' && f[1]) {
			return -EINVAL;
		} else if (*(o->a ? &o->b : &o->a)) {
			return -EINVAL;
		} else {
			*(o->a ? &o->b : &o->a) = f;
		}
	}
	return o->b ? 0 : -EINVAL;
}

int main(int argc, char **argv)
{
	struct opts o;
	struct cli_in a, b = { .fd = -1 };
	struct cli_out co = { .fd = -1 };
	struct rst_out_opts raw = { .container = RST_RAW };
	uint64_t total = 0;
	bool has_out;
	int rc;

	msg_init("diffrst");
	if (parse(&o, argc, argv)) {
		msg_error("bad arguments; see diffrst -help");
		return 2;
	}
	has_out = strcmp(o.out, "-");
	rc = cli_open(&a, o.a);
	if (!rc)
		rc = cli_open(&b, o.b);
	if (!rc && has_out)
		rc = cli_out_open(&co, o.out, &raw);
	if (!rc)
		rc = compare(&o, &a, &b, &co, &total);
	if (has_out) {
		int rc2 = cli_out_finish(&co, !rc, NULL, 0);

		rc = rc ? rc : rc2;
	}
	if (!rc)
		rc = a.error ? a.error : b.error;
	cli_close(&a);
	cli_close(&b);
	if (fflush(stdout) || ferror(stdout))
		rc = msg_errno(errno, "writing failed");
	return rc ? 2 : total ? 1 : 0;
}
