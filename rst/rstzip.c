/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rstzip: packs, unpacks and tests traces. Called rstunzip (or rstunzip2, rstunzip3) it unpacks. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

#include "rst/cli.h"

static const char usage[] =
"Usage: rstzip [options] [file]\n"
"       rstunzip [options] [file]\n"
"Pack, unpack and test instruction traces.\n"
"  -x                      form rzx (the default)\n"
"  -2                      form RZ2, in gzip\n"
"  -3                      form RZ3, in gzip\n"
"  -0                      raw records\n"
"  -d, --decompress        unpack any form\n"
"  -t, --test              unpack, check, write nothing; says what it is\n"
"  -o, --output FILE       where to (else stdout); without a form the suffix of FILE decides\n"
"  -i FILE                 the input, as the argument\n"
"  -l, --level N           1 … 9: of gzip, or the memory of rzx (default 9; rzx: by the trace)\n"
"  -g, --gzip              gzip around rzx or raw\n"
"  --no-gzip               no gzip around RZ2 and RZ3\n"
"  --nogz                  the same\n"
"  --up                    RZ2: the layout for one processor (default: below 1.10)\n"
"  --mp                    RZ2: the layout for many\n"
"  --minor N               RZ3: write version 3.N, 19 or 20 (default: by the version)\n"
"  --lossy                 RZ2, RZ3: write what they cannot hold as it comes, unchecked\n"
"  -n N                    at most N records\n"
"  -s, --stats             say the sizes on stderr\n"
"  --verbose               the same\n"
"  -h, --help              this text\n"
"  -v, --version           the version\n"
"A damaged file gives every whole section, the place of the damage, and status 1.\n";

struct opts {
	enum rst_container form;
	bool form_set, decompress, test, stats, force_gzip, no_gzip;
	const char *in, *out;
	uint64_t limit;
	struct rst_out_opts o;
	int level;
};

enum { OPT_NOGZ = 256, OPT_UP, OPT_MP, OPT_MINOR, OPT_LOSSY };

static int one_option(struct opts *o, int c)
{
	uint64_t n;

	switch (c) {
	case 'x': o->form = RST_RZX; o->form_set = true; break;
	case '2': o->form = RST_RZ2; o->form_set = true; break;
	case '3': o->form = RST_RZ3; o->form_set = true; break;
	case '0': o->form = RST_RAW; o->form_set = true; break;
	case 'd': o->decompress = true; break;
	case 't': o->test = true; break;
	case 'o': o->out = optarg; break;
	case 'i': o->in = optarg; break;
	case 'g': o->force_gzip = true; break;
	case 's': o->stats = true; break;
	case 'l':
		if (util_parse_u64(optarg, 10, 9, &n) || !n)
			return -EINVAL;
		o->level = (int)n;
		break;
	case 'n':
		if (util_parse_u64(optarg, 10, UINT64_MAX, &o->limit))
			return -EINVAL;
		break;
	case OPT_NOGZ: o->no_gzip = true; break;
	case OPT_UP: o->o.rz2_up = 1; break;
	case OPT_MP: o->o.rz2_up = 0; break;
	case OPT_LOSSY: o->o.lossy = true; break;
	case OPT_MINOR:
		if (util_parse_u64(optarg, 10, 20, &n) || n < 19)
			return -EINVAL;
		o->o.rz3_minor = (unsigned int)n;
		break;
	case 'h':
		fputs(usage, stdout);
		exit(0);
	case 'v':
		printf("rstzip (opjit) %s: RZ2 2.01, RZ3 3.20, rzx 1\n", PACKAGE_VERSION);
		exit(0);
	default:
		return -EINVAL;
	}
	return 0;
}

static void choose_form(struct opts *o)
{
	bool gz;

	if (o->out && !o->form_set && !o->decompress && cli_container_of(o->out, &gz) != RST_RAW) {
		o->form = cli_container_of(o->out, &gz);
		o->force_gzip |= gz;
		o->no_gzip |= !gz;
	}
	if (o->decompress)
		o->form = RST_RAW;
	o->o.container = o->form;
	o->o.rzx_level = o->form == RST_RZX ? (unsigned int)o->level : 0;
	if (o->force_gzip || (!o->no_gzip && (o->form == RST_RZ2 || o->form == RST_RZ3)))
		o->o.gzip_level = o->level && o->form != RST_RZX ? o->level : 9;
}

static int parse(struct opts *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "decompress", 0, NULL, 'd' }, { "test", 0, NULL, 't' }, { "output", 1, NULL, 'o' }, { "level", 1, NULL, 'l' },
		{ "gzip", 0, NULL, 'g' }, { "no-gzip", 0, NULL, OPT_NOGZ }, { "nogz", 0, NULL, OPT_NOGZ }, { "up", 0, NULL, OPT_UP },
		{ "mp", 0, NULL, OPT_MP }, { "minor", 1, NULL, OPT_MINOR }, { "lossy", 0, NULL, OPT_LOSSY },
		{ "stats", 0, NULL, 's' }, { "verbose", 0, NULL, 's' }, { "help", 0, NULL, 'h' }, { "version", 0, NULL, 'v' }, { 0 },
	};
	const char *base = strrchr(argv[0], '/');
	int c;

	base = base ? base + 1 : argv[0];
	o->decompress = !strncmp(base, "rstunzip", 8) || !strncmp(base, "lt-rstunzip", 11);
	o->limit = UINT64_MAX;
	o->o.rz2_up = -1;
	o->form = RST_RZX;
	while ((c = getopt_long(argc, argv, "x230dto:i:gsl:n:hv", longs, NULL)) >= 0) {
		if (one_option(o, c)) {
			if (c != '?')
				msg_error("bad value %s; see rstzip --help", optarg ? optarg : "");
			return -EINVAL;
		}
	}
	if (optind < argc && !o->in)
		o->in = argv[optind++];
	if (optind < argc) {
		msg_error("more than one file");
		return -EINVAL;
	}
	choose_form(o);
	return 0;
}

static int pump(struct cli_in *ci, struct cli_out *co, uint64_t limit, bool test)
{
	while (ci->recno < limit) {
		const uint8_t *rec = cli_next(ci);
		size_t n;
		int rc;

		if (!rec)
			break;
		/* The rest of the buffer in one go. */
		n = MIN(ci->n - ci->pos, limit - ci->recno);
		ci->pos += n;
		ci->recno += n;
		rc = test ? 0 : cli_out_write(co, rec, n + 1);
		if (rc)
			return rc;
	}
	return 0;
}

static int finish(const struct opts *o, struct cli_in *ci, struct cli_out *co, const struct rst_in_info *info, int rc, int read_rc)
{
	/* A fragment behind the last record is kept where the form can; rzx then gives the file back byte for byte. */
	if (read_rc == -EBADMSG && info->n_fragment && (info->container == RST_RZX || o->form == RST_RZX))
		msg_warn("%s: the %u bytes behind the last record are kept", ci->name, info->n_fragment);
	if (!o->test && co->out) {
		int rc2 = cli_out_finish(co, !rc, info->fragment, o->form == RST_RZX || o->form == RST_RAW ? info->n_fragment : 0);

		rc = rc2 ? rc2 : rc;
	} else if (!o->test) {
		cli_out_finish(co, false, NULL, 0);
	}
	return rc;
}

int main(int argc, char **argv)
{
	struct opts o = { 0 };
	struct cli_in ci;
	struct cli_out co = { .fd = -1 };
	struct rst_in_info info = { 0 };
	int rc, read_rc = 0;

	msg_init("rstzip");
	if (parse(&o, argc, argv))
		return 2;
	rc = cli_open(&ci, o.in);
	if (!rc && !o.test)
		rc = cli_out_open(&co, o.out, &o.o);
	if (!rc) {
		rc = pump(&ci, &co, o.limit, o.test);
		rst_in_info(ci.in, &info);
		read_rc = ci.error;
	}
	rc = finish(&o, &ci, &co, &info, rc, read_rc);
	if (!rc && (o.stats || o.test))
		msg_info("%s: %s%s, %" PRIu64 " records, %" PRIu64 " sections, %" PRIu64 " checksums agree, %" PRIu64 " bytes read%s",
			 ci.name, rst_container_name(info.container), info.gzip ? " in gzip" : "", info.n_recs, info.n_sections,
			 info.n_checks, info.in_offset, read_rc ? "; damaged" : "");
	cli_close(&ci);
	return rc || read_rc ? 1 : 0;
}
