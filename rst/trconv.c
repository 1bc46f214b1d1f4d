/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * trconv: a trace as text, with checks; a part of it; or counts. Its flags are those of the format's first viewer, so
 * they have one dash and are read by hand. trv is the same with a pager.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "format/rst/sparc.h"
#include "rst/check.h"
#include "rst/cli.h"
#include "rst/print.h"

struct range { uint64_t lo, hi; bool set; };
struct opts {
	struct print_opts print;
	const char *in, *out, *to;
	uint64_t skip, limit;
	bool skip_instrs, limit_instrs, has_limit;
	struct range pc, ea;
	bool cpus[1024], has_cpus;
	bool count, only_instr, no_instr, renumber;
	bool no_checks, fast, ihash_checks, patch_clean, patch_ihash, am;
	uint64_t check_mask;
	const char *syms;
};
struct counts {
	uint64_t all, instrs, type[256], recnum, memval128, skipped, skipped_instrs, unknown;
};
struct state {
	struct opts o;
	struct cli_in in;
	struct cli_out dst;
	struct printer printer;
	struct check *check;
	struct counts counts;
	FILE *text;
	uint64_t n_shown, n_instrs, n_errors;
	bool stop;
};

static const char usage[] =
"Usage: trconv [flags] [file]\n"
"       trv [flags] [file]\n"
"Print instruction traces.\n"
"  -n N                    stop after N records, or with Ni after N instructions\n"
"  -s N                    skip that many first\n"
"  [-pc=A[,B]] [-ea=A[,B]]  only instructions at A or within [A,B], hex\n"
"  [-cpu=LIST]             only these cpus, e.g. 0,4-7,12\n"
"  -i                      only instructions\n"
"  [-ic] [-ni] [-nic]      the same renumbered; all but instructions; the same renumbered\n"
"  -a                      instructions field by field\n"
"  -d                      instructions disassembled (default)\n"
"  -x                      with the bytes of each record\n"
"  [-gnu]                  disassembly in GNU style (needs a libopcodes that knows SPARC)\n"
"  [-nid]                  no record numbers\n"
"  -c                      only count\n"
"  [-pa] [-vt]             physical data addresses; one register value a line\n"
"  [-sym FILE] [-syms FILE]  names of addresses, as nm prints them\n"
"  [-nv] [-fast]           no checks; no checks and no patching\n"
"  -e                      only errors of ihash\n"
"  [-nobranch] [-nopc_pavadiff] [-noea_pavadiff]  drop those checks\n"
"  [-pstate_am 0|1]        AM bit at the start\n"
"  [-patchcleanrst] [-patchihash]  addresses that are not valid to 0; ihash anew (below 2.12)\n"
"  [-from rst] [-to rst|null]  -to rst writes records, not text (-o x.rzx packs)\n"
"  -r                      the default mode; also -rstdump\n"
"  -o FILE                 where to; -stdout: there\n"
"  -h, --help              this text; also -help\n"
"  -v                      the version; also -version\n";

static int parse_range(const char *s, struct range *r)
{
	char buf[40];
	char *comma;

	if (strlen(s) >= sizeof(buf))
		return -EINVAL;
	memcpy(buf, s, strlen(s) + 1);
	comma = strchr(buf, ',');
	if (comma)
		*comma++ = 0;
	if (util_parse_u64(!strncmp(buf, "0x", 2) ? buf + 2 : buf, 16, UINT64_MAX, &r->lo))
		return -EINVAL;
	r->hi = r->lo;
	if (comma && util_parse_u64(!strncmp(comma, "0x", 2) ? comma + 2 : comma, 16, UINT64_MAX, &r->hi))
		return -EINVAL;
	r->set = true;
	return 0;
}

static int parse_cpus(const char *s, bool cpus[1024])
{
	while (*s) {
		char *end;
		unsigned long a = strtoul(s, &end, 10), b = a;

		if (end == s)
			return -EINVAL;
		if (*end == '-') {
			s = end + 1;
			b = strtoul(s, &end, 10);
			if (end == s)
				return -EINVAL;
		}
		if (a > b || b > 1023)
			return -EINVAL;
		for (; a <= b; a++)
			cpus[a] = true;
		if (*end && *end != ',')
			return -EINVAL;
		s = *end ? end + 1 : end;
	}
	return 0;
}

/* Flags without a value. */
static bool plain_flag(struct opts *o, const char *f)
{
	const struct { const char *name; bool *to; } table[] = {
		{ "-a", &o->print.fields }, { "-x", &o->print.verbose }, { "-nid", &o->print.no_recno }, { "-c", &o->count },
		{ "-pa", &o->print.phys }, { "-vt", &o->print.values }, { "-nv", &o->no_checks }, { "-fast", &o->fast },
		{ "-e", &o->ihash_checks }, { "-patchcleanrst", &o->patch_clean }, { "-patchihash", &o->patch_ihash },
		{ "-gnu", &o->print.gnu },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (!strcmp(f, table[i].name)) {
			*table[i].to = true;
			return true;
		}
	}
	if (!strcmp(f, "-i") || !strcmp(f, "-ic"))
		o->only_instr = true;
	else if (!strcmp(f, "-ni") || !strcmp(f, "-nic"))
		o->no_instr = true;
	else if (!strcmp(f, "-nobranch"))
		o->check_mask &= ~CHECK_BRANCH;
	else if (!strcmp(f, "-nopc_pavadiff"))
		o->check_mask &= ~CHECK_PC_PAVA;
	else if (!strcmp(f, "-noea_pavadiff"))
		o->check_mask &= ~CHECK_EA_PAVA;
	else if (!strcmp(f, "-stdout"))
		o->out = NULL;
	else if (strcmp(f, "-d") && strcmp(f, "-r") && strcmp(f, "-rstdump"))
		return false;
	o->renumber |= !strcmp(f, "-ic") || !strcmp(f, "-nic");
	return true;
}

/* Flags with a value in the next argument: 1 taken, 0 not such a flag, -EINVAL. */
static int value_flag(struct opts *o, const char *f, const char *v)
{
	static const char *const names[] = { "-n", "-s", "-from", "-to", "-sym", "-syms", "-pstate_am", "-o" };
	size_t i = 0;

	while (i < ARRAY_SIZE(names) && strcmp(f, names[i]))
		i++;
	if (i == ARRAY_SIZE(names))
		return 0;
	if (!v)
		return -EINVAL;
	switch (i) {
	case 0:
		o->has_limit = true;
		return cli_parse_count(v, &o->limit, &o->limit_instrs) ? -EINVAL : 1;
	case 1:
		return cli_parse_count(v, &o->skip, &o->skip_instrs) ? -EINVAL : 1;
	case 2:
		if (!strcmp(v, "rst"))
			return 1;
		msg_error("-from %s: only rst is read; the old Shade and RTF forms are not supported", v);
		return -ENOTSUP;
	case 3:
		if (strcmp(v, "rst") && strcmp(v, "null")) {
			msg_error("-to %s: only rst and null are written", v);
			return -ENOTSUP;
		}
		o->to = v;
		return 1;
	case 4: case 5:
		o->syms = v;
		return 1;
	case 6:
		o->am = !strcmp(v, "1");
		return !strcmp(v, "0") || o->am ? 1 : -EINVAL;
	default:
		o->out = v;
		return 1;
	}
}

static int joined_flag(struct opts *o, const char *f)
{
	if (!strncmp(f, "-pc=", 4))
		return parse_range(f + 4, &o->pc);
	if (!strncmp(f, "-ea=", 4))
		return parse_range(f + 4, &o->ea);
	if (strncmp(f, "-cpu=", 5))
		return -EINVAL;
	o->has_cpus = true;
	return parse_cpus(f + 5, o->cpus);
}

static int parse(struct opts *o, int argc, char **argv)
{
	o->check_mask = CHECK_PC | CHECK_BRANCH | CHECK_PC_PAVA | CHECK_EA_PAVA;
	for (int i = 1; i < argc; i++) {
		const char *f = argv[i];
		int rc;

		if (!strncmp(f, "--", 2) && f[2])
			f++;
		if (f[0] != '-' || !f[1]) {
			if (o->in) {
				msg_error("more than one file: %s and %s", o->in, f);
				return -EINVAL;
			}
			o->in = f;
			continue;
		}
		if (!strcmp(f, "-h") || !strcmp(f, "-help")) {
			fputs(usage, stdout);
			exit(0);
		}
		if (!strcmp(f, "-v") || !strcmp(f, "-version")) {
			printf("trconv (opjit) %s, RST up to %u.%u\n", PACKAGE_VERSION, RST_VERSION / 100, RST_VERSION % 100);
			exit(0);
		}
		if (plain_flag(o, f))
			continue;
		rc = value_flag(o, f, argv[i + 1]);
		if (rc == -ENOTSUP)
			return rc;
		if (rc == 1) {
			i++;
			continue;
		}
		if (rc || joined_flag(o, f)) {
			msg_error("%s: not understood; see trconv -help", argv[i]);
			return -EINVAL;
		}
	}
	return 0;
}

static bool is_selected(struct state *st, const uint8_t *rec)
{
	const struct opts *o = &st->o;
	bool instr = rec[0] == RST_INSTR;

	if ((o->only_instr && !instr) || (o->no_instr && instr))
		return false;
	if (o->has_cpus) {
		int cpu = rst_rec_cpu(rec, st->in.version);

		if (cpu >= 0 && (cpu > 1023 || !o->cpus[cpu]))
			return false;
	}
	if (o->pc.set || o->ea.set) {
		if (!instr)
			return false;
		if (o->pc.set && (rst_instr_pc(rec) < o->pc.lo || rst_instr_pc(rec) > o->pc.hi))
			return false;
		if (o->ea.set && (!(rec[1] & RST_I_EA) || rst_instr_ea(rec) < o->ea.lo || rst_instr_ea(rec) > o->ea.hi))
			return false;
	}
	return true;
}

static void count(struct counts *c, const uint8_t *rec, unsigned int version)
{
	size_t n;

	c->all++;
	c->type[rec[0]]++;
	c->instrs += rec[0] == RST_INSTR;
	c->recnum += rec[0] == RST_FILEMARKER && rec[1] & 0x80;
	c->memval128 += rec[0] == RST_MEMVAL && rec[1] & 0x80;
	if (rec[0] != RST_ZERO && rec[0] != RST_NULLREC && !rst_rec_fields(rec[0], NULL, version, &n))
		c->unknown++;
}

static void print_counts(const struct counts *c, FILE *f)
{
	const struct { const char *name; uint64_t n; } lines[] = {
		{ "instruction", c->type[RST_INSTR] }, { "header", c->type[RST_HEADER] }, { "traceinfo", c->type[RST_TRACEINFO] },
		{ "tlb", c->type[RST_TLB] }, { "thread", c->type[RST_THREAD] }, { "preg", c->type[RST_PREG] },
		{ "trap", c->type[RST_TRAP] }, { "trapexit", c->type[RST_TRAPEXIT] }, { "cpu", c->type[RST_CPU] },
		{ "dma", c->type[RST_DMA] }, { "snoop", c->type[RST_SNOOP] },
		{ "delim", c->type[RST_LEFTDELIM] + c->type[RST_RIGHTDELIM] }, { "physaddr", c->type[RST_PHYSADDR] },
		{ "pavadiff", c->type[RST_PAVADIFF] }, { "rfs_sechdr", c->type[RST_RFS_HEADER] },
		{ "rfs_cachewarming", c->type[RST_RFS_CW] }, { "rfs_bpwarming", c->type[RST_RFS_BT] },
		{ "filemarker", c->type[RST_FILEMARKER] - c->recnum }, { "recnum", c->recnum },
		{ "string", c->type[RST_STRDESC] + c->type[RST_STRCONT] }, { "status", c->type[RST_STATUS] },
		{ "patch", c->type[RST_PATCH] }, { "regval", c->type[RST_REGVAL] },
		{ "memval64", c->type[RST_MEMVAL] - c->memval128 }, { "memval128", c->memval128 },
		{ "bustrace", c->type[RST_BUSTRACE] }, { "process", c->type[RST_PROCESS] }, { "hwinfo", c->type[RST_HWINFO] },
		{ "tsb_access", c->type[RST_TSB_ACCESS] }, { "trapping_instr", c->type[RST_TRAPPING_INSTR] },
		{ "x86_instr", c->type[RST_X86_INSTR] }, { "nullrec", c->type[RST_NULLREC] }, { "zero", c->type[RST_ZERO] },
		{ "unknown", c->unknown },
	};

	if (c->all == c->instrs)
		fprintf(f, "Counted: %" PRIu64 " instructions\n", c->instrs);
	else
		fprintf(f, "Counted: %" PRIu64 " records\n", c->all);
	for (size_t i = 0; i < ARRAY_SIZE(lines) && c->all != c->instrs; i++)
		if (lines[i].n)
			fprintf(f, "  %-18s %" PRIu64 "\n", lines[i].name, lines[i].n);
	if (c->skipped)
		fprintf(f, "Skipped: %" PRIu64 " records, %" PRIu64 " of them instructions\n", c->skipped, c->skipped_instrs);
}

static void report(void *arg, unsigned int rule, enum check_severity sev, uint64_t recno, const char *text)
{
	struct state *st = arg;

	if (sev == CHECK_NOTE)
		return;
	st->n_errors++;
	if (st->n_errors <= 100)
		msg_warn("record %" PRIu64 ": %s", recno, text);
	else if (st->n_errors == 101)
		msg_warn("further findings are not shown; see rstcheck");
}

static void patch(struct state *st, uint8_t *rec)
{
	const struct rst_field *f;

	if (st->o.patch_clean) {
		if (rec[0] == RST_INSTR && !(rec[1] & RST_I_EA))
			rst_put64(rec + 16, 0);
		if (rec[0] == RST_PAVADIFF && !(rec[1] & 0x80))
			rst_put64(rec + 16, 0);
	}
	if (st->o.patch_ihash && rec[0] == RST_INSTR) {
		f = rst_field_find(RST_INSTR, rec, st->in.version, "ihash");
		if (f)
			rst_field_set(f, rec, sparc_ihash(rst_instr_word(rec)));
	}
}

static void check_ihash(struct state *st, const uint8_t *rec)
{
	const struct rst_field *f = rec[0] == RST_INSTR ? rst_field_find(RST_INSTR, rec, st->in.version, "ihash") : NULL;
	uint64_t v = f ? rst_field_get(f, rec) : 0;

	if (f && v != sparc_ihash(rst_instr_word(rec)))
		report(st, 0, CHECK_WARNING, st->in.recno - 1, "ihash is not that of the instruction word");
}

static bool checks(const struct state *st)
{
	return st->check && !st->o.fast && !st->o.no_checks && !st->o.ihash_checks;
}

static int one(struct state *st, const uint8_t *orig)
{
	const struct opts *o = &st->o;
	uint64_t recno = st->in.recno - 1;
	uint8_t rec[RST_REC_SIZE];
	bool instr = orig[0] == RST_INSTR, skipped;

	memcpy(rec, orig, sizeof(rec));
	skipped = o->skip_instrs ? st->n_instrs < o->skip : recno < o->skip;
	st->n_instrs += instr;
	if (checks(st))
		check_record(st->check, rec);
	if (o->ihash_checks)
		check_ihash(st, rec);
	if (!o->fast)
		patch(st, rec);
	if (skipped || !is_selected(st, rec)) {
		st->counts.skipped += skipped;
		st->counts.skipped_instrs += skipped && instr;
		printer_note(&st->printer, rec);
		return 0;
	}
	count(&st->counts, rec, st->in.version);
	if (o->to && !strcmp(o->to, "rst"))
		return cli_out_write(&st->dst, rec, 1);
	if (!o->count) {
		const char *line = printer_line(&st->printer, o->renumber ? st->counts.all - 1 : recno, rec);

		if (fputs(line, st->text) < 0)
			return -errno;
	}
	return 0;
}

static bool limit_reached(const struct state *st)
{
	return st->o.has_limit && (st->o.limit_instrs ? st->counts.instrs : st->counts.all) >= st->o.limit;
}

static int set_up_printer(struct state *st)
{
	int rc = printer_init(&st->printer, &st->o.print, st->in.version);

	if (rc == -ENOTSUP)
		msg_error("-gnu: no libopcodes that knows SPARC is installed (binutils-sparc64-linux-gnu has one)");
	return !rc && st->o.syms ? syms_load_file(&st->printer.syms, st->o.syms) : rc;
}

static int flush_text(struct state *st)
{
	if (fflush(st->text) || ferror(st->text))
		return -(errno ? errno : EIO);
	return 0;
}

static int convert(struct state *st)
{
	const uint8_t *rec = NULL;
	AUTO_STRBUF banner = STRBUF_INIT;
	bool to_rst = st->o.to && !strcmp(st->o.to, "rst");
	int rc;

	if (!limit_reached(st))
		rec = cli_next(&st->in);
	rc = set_up_printer(st);
	if (!rc && !to_rst && !st->o.count) {
		printer_banner(&banner, st->in.name);
		fputs(strbuf_str(&banner), st->text);
	}
	while (rec && !rc) {
		rc = one(st, rec);
		rec = rc || limit_reached(st) ? NULL : cli_next(&st->in);
	}
	if (!rc && st->o.count)
		print_counts(&st->counts, st->text);
	if (!rc && checks(st) && !st->in.error && !limit_reached(st))
		check_end(st->check, 0);
	printer_done(&st->printer);
	return rc ? rc : to_rst ? 0 : flush_text(st);
}

static int open_text(struct state *st)
{
	st->text = st->o.out && strcmp(st->o.out, "-") ? fopen(st->o.out, "we") : stdout;
	return st->text ? 0 : msg_errno(errno, "%s: cannot be written", st->o.out);
}

static int run(struct state *st)
{
	bool to_rst = st->o.to && !strcmp(st->o.to, "rst");
	struct rst_out_opts ro = { .container = RST_RAW, .rz2_up = -1 };
	bool gzip = false;
	int rc = check_new(&st->check, st->o.check_mask, report, st);

	st->dst.fd = -1;
	if (rc)
		return msg_errno(rc, "trconv");
	check_set_am(st->check, st->o.am);
	if (st->o.out)
		ro.container = cli_container_of(st->o.out, &gzip);
	ro.gzip_level = gzip ? 9 : 0;
	rc = to_rst ? cli_out_open(&st->dst, st->o.out, &ro) : open_text(st);
	if (!rc)
		rc = cli_open(&st->in, st->o.in);
	if (!rc) {
		rc = convert(st);
		if (rc && rc != st->in.error && rc != -EPIPE && rc != -ENOTSUP)
			msg_errno(rc, "writing failed");
		rc = rc ? rc : st->in.error;
	}
	if (to_rst) {
		int rc2 = cli_out_finish(&st->dst, !rc || rc == st->in.error, NULL, 0);

		rc = rc ? rc : rc2;
	}
	if (st->text && st->text != stdout && fclose(st->text) && !rc)
		rc = msg_errno(errno, "%s", st->o.out);
	cli_close(&st->in);
	check_free(st->check);
	return rc;
}

/* stdout through $PAGER when it is a terminal. */
static int start_pager(pid_t *pid)
{
	const char *pager = getenv("PAGER");
	int fds[2];

	if (!isatty(STDOUT_FILENO))
		return 0;
	if (pipe(fds))
		return -errno;
	*pid = fork();
	if (*pid < 0)
		return -errno;
	if (*pid == 0) {
		dup2(fds[0], STDIN_FILENO);
		close(fds[0]);
		close(fds[1]);
		execl("/bin/sh", "sh", "-c", pager && *pager ? pager : "exec less -S 2>/dev/null || exec more", (char *)NULL);
		_exit(127);
	}
	dup2(fds[1], STDOUT_FILENO);
	close(fds[0]);
	close(fds[1]);
	return 0;
}

int main(int argc, char **argv)
{
	const char *base = strrchr(argv[0], '/');
	static struct state st;
	pid_t pager = 0;
	int rc, status;

	base = base ? base + 1 : argv[0];
	msg_init(base);
	if (parse(&st.o, argc, argv))
		return 2;
	if (!strncmp(base, "trv", 3) || !strncmp(base, "lt-trv", 6)) {
		rc = start_pager(&pager);
		if (rc)
			msg_errno(rc, "no pager");
		signal(SIGPIPE, SIG_IGN);
	}
	rc = run(&st);
	if (pager) {
		fclose(stdout);
		while (waitpid(pager, &status, 0) < 0 && errno == EINTR)
			;
		if (rc == -EPIPE)
			rc = 0;
	}
	return rc ? 1 : 0;
}
