/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rstsnap: cuts a window out of a trace, with what its reader must know before it: the header, the strings, the state of
 * each cpu (the last PREG and PAVADIFF, the address half from an earlier PAVADIFF if the last has none), the last CPU, PROCESS
 * and THREAD records, and a RECNUM that says where it was.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

#include "lib/strbuf.h"
#include "rst/cli.h"

static const char usage[] =
"Usage: rstsnap -s N[i] -n N[i] [options] [file]\n"
"Cut a window out of an instruction trace.\n"
"  -s, --skip N            the window begins after N records, or with Ni after N instructions\n"
"  -n, --count N           and has N records, or with Ni N instructions\n"
"  -o, --output FILE       where to (else stdout); the suffix .rzx, .rz2.gz, .rz3.gz packs\n"
"  -h, --help              this text\n"
"  -v, --version           the version\n";

#define MAX_CPUS 1024
#define STRINGS_CAP ((size_t)16 << 20)

struct state {
	uint64_t skip, count;
	bool skip_instrs, count_instrs;
	uint8_t header[2 * RST_REC_SIZE];
	size_t n_header;
	struct strbuf strings;
	bool in_instrs;      /* strings behind the first instruction are not of the head, but for those that name code */
	uint8_t preg[MAX_CPUS][RST_REC_SIZE], pava[MAX_CPUS][RST_REC_SIZE], cpu[RST_REC_SIZE], process[RST_REC_SIZE],
		thread[RST_REC_SIZE];
	uint64_t ea_diff[MAX_CPUS];
	uint16_t dctx[MAX_CPUS];
	bool has_ea[MAX_CPUS];
	uint64_t n, instrs;  /* seen */
};

static void note(struct state *s, const uint8_t *rec, unsigned int version)
{
	int cpu = rst_rec_cpu(rec, version);

	cpu = cpu < 0 || cpu >= MAX_CPUS ? 0 : cpu;
	s->in_instrs |= rec[0] == RST_INSTR;
	switch (rec[0]) {
	case RST_STRDESC: case RST_STRCONT:
		/* All of them: names of code that comes and goes are strings too. */
		if (s->strings.len < STRINGS_CAP)
			strbuf_add(&s->strings, rec, RST_REC_SIZE);
		break;
	case RST_PREG: memcpy(s->preg[cpu], rec, RST_REC_SIZE); break;
	case RST_CPU: memcpy(s->cpu, rec, RST_REC_SIZE); break;
	case RST_PROCESS: memcpy(s->process, rec, RST_REC_SIZE); break;
	case RST_THREAD: memcpy(s->thread, rec, RST_REC_SIZE); break;
	case RST_PAVADIFF:
		memcpy(s->pava[cpu], rec, RST_REC_SIZE);
		if (rec[1] & 0x80) {
			s->ea_diff[cpu] = rst_be64(rec + 16);
			s->dctx[cpu] = rst_be16(rec + 6);
			s->has_ea[cpu] = true;
		}
		break;
	}
	s->instrs += rec[0] == RST_INSTR;
	s->n++;
}

/* What comes before the window. */
static int put_head(struct state *s, struct cli_out *co, unsigned int version)
{
	uint8_t recnum[RST_REC_SIZE] = { RST_FILEMARKER, 0x80, 0 };
	const uint8_t *const one[] = { s->cpu, s->process, s->thread };
	int rc;

	if (s->n_header == 2 && s->header[RST_REC_SIZE] == RST_TRACEINFO && s->header[RST_REC_SIZE + 1] == RST_TRACEINFO_LEVEL)
		rst_put16(s->header + RST_REC_SIZE + 2, (uint16_t)(rst_be16(s->header + RST_REC_SIZE + 2) + 1));
	rc = cli_out_write(co, s->header, s->n_header);
	if (!rc)
		rc = cli_out_write(co, (const uint8_t *)strbuf_str(&s->strings), s->strings.len / RST_REC_SIZE);
	/* Types before 1.7 had no RECNUM. */
	rst_put64(recnum + 8, s->n);
	if (!rc && version >= 107)
		rc = cli_out_write(co, recnum, 1);
	for (size_t i = 0; i < ARRAY_SIZE(one) && !rc; i++)
		if (one[i][0])
			rc = cli_out_write(co, one[i], 1);
	for (size_t i = 0; i < MAX_CPUS && !rc; i++)
		if (s->preg[i][0])
			rc = cli_out_write(co, s->preg[i], 1);
	for (size_t i = 0; i < MAX_CPUS && !rc; i++) {
		if (!s->pava[i][0])
			continue;
		if (!(s->pava[i][1] & 0x80) && s->has_ea[i]) {
			s->pava[i][1] |= 0x80;
			rst_put64(s->pava[i] + 16, s->ea_diff[i]);
			rst_put16(s->pava[i] + 6, s->dctx[i]);
		}
		rc = cli_out_write(co, s->pava[i], 1);
	}
	return rc;
}

static int snap(struct state *s, struct cli_in *ci, struct cli_out *co)
{
	const uint8_t *rec;
	uint64_t n = 0, instrs = 0;
	bool open_string = false;
	int rc = 0;

	while ((rec = cli_next(ci))) {
		bool before = s->skip_instrs ? s->instrs < s->skip : s->n < s->skip;

		if (s->n_header < 2 && s->n == s->n_header && (!s->n || rec[0] == RST_TRACEINFO)) {
			memcpy(s->header + s->n_header++ * RST_REC_SIZE, rec, RST_REC_SIZE);
			s->n++;
			continue;
		}
		/* Not from the middle of a string, nor between the bytes of an x86 instruction and the instruction. */
		if (before || open_string) {
			open_string = rec[0] == RST_STRCONT || rec[0] == RST_X86_INSTR;
			note(s, rec, ci->version);
			continue;
		}
		if (!n)
			rc = put_head(s, co, ci->version);
		if (!rc)
			rc = cli_out_write(co, rec, 1);
		n++;
		instrs += rec[0] == RST_INSTR;
		if (rc || (s->count_instrs ? instrs >= s->count : n >= s->count))
			return rc;
	}
	if (!n && !ci->error) {
		msg_error("%s: the trace ends before the window (%" PRIu64 " records, %" PRIu64 " instructions)", ci->name, s->n, s->instrs);
		return -ENODATA;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "skip", 1, NULL, 's' }, { "count", 1, NULL, 'n' }, { "output", 1, NULL, 'o' }, { "help", 0, NULL, 'h' },
		{ "version", 0, NULL, 'v' }, { 0 },
	};
	static struct state s = { .count = UINT64_MAX, .strings = STRBUF_INIT };
	struct rst_out_opts o = { .container = RST_RAW, .rz2_up = -1 };
	struct cli_out co = { .fd = -1 };
	struct cli_in ci;
	const char *out = NULL;
	bool gzip = false;
	int c, rc, rc2;

	msg_init("rstsnap");
	while ((c = getopt_long(argc, argv, "s:n:o:hv", longs, NULL)) >= 0) {
		rc = 0;
		switch (c) {
		case 's': rc = cli_parse_count(optarg, &s.skip, &s.skip_instrs); break;
		case 'n':
			rc = cli_parse_count(optarg, &s.count, &s.count_instrs);
			if (!rc && !s.count)
				rc = -EINVAL;
			break;
		case 'o': out = optarg; break;
		case 'h': fputs(usage, stdout); return 0;
		case 'v': printf("rstsnap (opjit) %s\n", PACKAGE_VERSION); return 0;
		default: return 2;
		}
		if (rc) {
			msg_error("bad count %s", optarg);
			return 2;
		}
	}
	if (optind + 1 < argc) {
		msg_error("more than one file");
		return 2;
	}
	rc = cli_open(&ci, argv[optind]);
	if (out)
		o.container = cli_container_of(out, &gzip);
	o.gzip_level = gzip ? 9 : 0;
	if (!rc)
		rc = cli_out_open(&co, out, &o);
	if (!rc)
		rc = snap(&s, &ci, &co);
	rc2 = cli_out_finish(&co, !rc, NULL, 0);
	rc = rc ? rc : rc2 ? rc2 : ci.error;
	cli_close(&ci);
	strbuf_done(&s.strings);
	return rc ? 1 : 0;
}
