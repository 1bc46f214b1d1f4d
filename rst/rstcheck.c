/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rstcheck: the rules of a well-made trace, each finding with its record number. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

#include "rst/check.h"
#include "rst/cli.h"

static const char usage[] =
"Usage: rstcheck [options] [file]\n"
"Check instruction traces.\n"
"  -m, --max N             at most N findings of a rule (default 10; 0 = all)\n"
"  -l, --level LEVEL       note, warning or error: the least to show (default note)\n"
"  -r, --rules LIST        only these rules, by number: 1,5,18\n"
"  -x, --except LIST       not these\n"
"  -q, --quiet             counts by rule and the summary\n"
"  -h, --help              this text\n"
"  -v, --version           the version\n"
"One line a finding: RECORD SEVERITY RULE NAME: TEXT. Status 0: no errors or warnings, 1: some, 2: not readable.\n";

struct state {
	uint64_t max;
	enum check_severity least;
	bool quiet;
	uint64_t n[CHECK_RULES], by_sev[3];
};
static const char *const sev_names[] = { "note", "warning", "error" };

static void report(void *arg, unsigned int rule, enum check_severity sev, uint64_t recno, const char *text)
{
	struct state *st = arg;

	if (sev < st->least)
		return;
	st->by_sev[sev]++;
	st->n[rule]++;
	if (st->quiet || (st->max && st->n[rule] > st->max))
		return;
	printf("%" PRIu64 " %s %u %s: %s\n", recno, sev_names[sev], rule, check_rule_name(rule), text);
}

static int parse_list(const char *s, uint64_t *mask)
{
	while (*s) {
		char *end;
		unsigned long v = strtoul(s, &end, 10);

		if (end == s || v >= CHECK_RULES || (*end && *end != ','))
			return -EINVAL;
		*mask |= 1ULL << v;
		s = *end ? end + 1 : end;
	}
	return 0;
}

static int run(struct state *st, struct cli_in *ci, uint64_t mask)
{
	struct check *c;
	const uint8_t *rec;
	struct rst_in_info info;
	int rc = check_new(&c, mask, report, st);

	if (rc)
		return msg_errno(rc, "rstcheck");
	while ((rec = cli_next(ci)))
		check_record(c, rec);
	rst_in_info(ci->in, &info);
	check_end(c, info.n_fragment);
	check_free(c);
	for (unsigned int i = 0; i < CHECK_RULES && !st->quiet; i++)
		if (st->max && st->n[i] > st->max)
			printf("… and %" PRIu64 " more of rule %u %s\n", st->n[i] - st->max, i, check_rule_name(i));
	for (unsigned int i = 0; i < CHECK_RULES && st->quiet; i++)
		if (st->n[i])
			printf("%" PRIu64 " of rule %u %s\n", st->n[i], i, check_rule_name(i));
	printf("%" PRIu64 " records: %" PRIu64 " errors, %" PRIu64 " warnings, %" PRIu64 " notes\n", ci->recno, st->by_sev[2],
	       st->by_sev[1], st->by_sev[0]);
	if (ci->error && !(ci->error == -EBADMSG && info.n_fragment))
		return ci->error;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "max", 1, NULL, 'm' }, { "level", 1, NULL, 'l' }, { "rules", 1, NULL, 'r' }, { "except", 1, NULL, 'x' },
		{ "quiet", 0, NULL, 'q' }, { "help", 0, NULL, 'h' }, { "version", 0, NULL, 'v' }, { 0 },
	};
	struct state st = { .max = 10 };
	uint64_t only = 0, except = 0;
	struct cli_in ci;
	int c, rc;

	msg_init("rstcheck");
	while ((c = getopt_long(argc, argv, "m:l:r:x:qhv", longs, NULL)) >= 0) {
		bool bad = false;

		switch (c) {
		case 'm': bad = util_parse_u64(optarg, 10, UINT64_MAX, &st.max); break;
		case 'l':
			while (st.least < CHECK_ERROR && strcmp(optarg, sev_names[st.least]))
				st.least++;
			bad = strcmp(optarg, sev_names[st.least]);
			break;
		case 'r': bad = parse_list(optarg, &only); break;
		case 'x': bad = parse_list(optarg, &except); break;
		case 'q': st.quiet = true; break;
		case 'h': fputs(usage, stdout); return 0;
		case 'v': printf("rstcheck (opjit) %s\n", PACKAGE_VERSION); return 0;
		default: return 2;
		}
		if (bad) {
			msg_error("bad value %s; see rstcheck --help", optarg);
			return 2;
		}
	}
	if (optind + 1 < argc) {
		msg_error("more than one file");
		return 2;
	}
	rc = cli_open(&ci, argv[optind]);
	if (!rc)
		rc = run(&st, &ci, (only ? only : CHECK_ALL) & ~except);
	cli_close(&ci);
	if (fflush(stdout) || ferror(stdout))
		rc = msg_errno(errno, "writing failed");
	return rc ? 2 : st.by_sev[1] || st.by_sev[2] ? 1 : 0;
}
