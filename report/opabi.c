/* SPDX-License-Identifier: GPL-3.0-or-later */
/* opabi: looks into, checks, converts and merges the four self-describing files. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "format/abi/file.h"
#include "lib/io.h"
#include "lib/msg.h"
#include "report/opabi.h"
#include "session/convert.h"

#define FILE_MAX ((size_t)1 << 33)

static const char usage[] =
	"Usage: opabi dump [--json] [--pages] FILE...\n"
	"  or:  opabi check FILE...\n"
	"  or:  opabi stat FILE...\n"
	"  or:  opabi convert [--width N] [--order ORDER] FROM TO\n"
	"  or:  opabi merge [--width N] [--order ORDER] -o TO FILE...\n"
	"Looks into opnd, opsd, ophd and opdb files of any word size and byte order.\n\n"
	"  -j, --json         dump as JSON, one document a file\n"
	"  -p, --pages        dump the pages of an opdb tree, not only its pairs\n"
	"  -w, --width=N      bytes of a word, 1 to 255 (default: as it is)\n"
	"  -O, --order=ORDER  le, be, or which value byte each stored byte carries: 3,4,2,0,1\n"
	"  -o, --output=TO    file that merge writes\n"
	"  -?, --help         this text\n"
	"  -v, --version      version\n\n"
	"FROM may be a session directory: all its files are converted. A FILE of - is the standard input.\n"
	"check: every rule; says file, offset and rule of the first that is broken, and exits with 1.\n";

static int slurp(const char *path, struct strbuf *sb)
{
	AUTO_CLOSE int fd = -1;
	int r;

	sb->cap = FILE_MAX;
	if (!strcmp(path, "-")) {
		r = io_read_all(0, sb);
	} else {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		r = fd < 0 ? -errno : io_read_all(fd, sb);
	}
	return r < 0 ? msg_errno(r, "%s", path) : 0;
}

int opabi_fault(const char *path, int r, const struct abi_fault *f)
{
	if (!f->rule)
		return msg_errno(r, "%s", path);
	if (f->value)
		msg_error("%s: offset 0x%" PRIx64 ": %s: 0x%" PRIx64, path, f->at, f->rule, f->value);
	else
		msg_error("%s: offset 0x%" PRIx64 ": %s", path, f->at, f->rule);
	return r;
}

static int check_or_stat(const char *path, bool stat)
{
	AUTO_STRBUF sb = STRBUF_INIT;
	struct abi_fault fault = { 0 };
	struct abi_file_stat s;
	int r = slurp(path, &sb);

	if (r < 0)
		return r;
	r = abi_file_check(strbuf_str(&sb), sb.len, &s, &fault);
	if (r < 0)
		return opabi_fault(path, r, &fault);
	if (!stat) {
		printf("%s: good %s\n", path, abi_kind_name(s.fmt.kind));
		return 0;
	}
	printf("%s: %s %u.%u, width %u, order ", path, abi_kind_name(s.fmt.kind), s.fmt.major, s.fmt.minor, s.fmt.width);
	opabi_print_order(&s.fmt);
	printf("\n  bytes %zu\n", sb.len);
	switch (s.fmt.kind) {
	case ABI_OPND:
		printf("  notes %" PRIu64 "\n  of unknown type %" PRIu64 "\n", s.items, s.unknown);
		break;
	case ABI_OPSD:
		printf("  buffers %" PRIu64 "\n  samples %" PRIu64 "\n  hits %" PRIu64 "\n", s.items, s.samples, s.sum);
		break;
	case ABI_OPHD:
		printf("  entries %" PRIu64 " of %" PRIu64 "\n  pool %" PRIu64 "\n", s.items, s.slots, s.pool);
		break;
	default:
		printf("  pairs %" PRIu64 "\n  sum %" PRIu64 "\n  overflowed %" PRIu64 "\n  keys 0x%" PRIx64 " - 0x%" PRIx64 "\n",
		       s.opdb.pairs, s.sum, s.opdb.overflowed, s.opdb.min_key, s.opdb.max_key);
		printf("  records %" PRIu64 ", in use %" PRIu64 ", in the tree %" PRIu64 ", unreached %" PRIu64 "\n", s.total, s.used,
		       s.opdb.pages, s.opdb.orphans);
		printf("  entries a page %" PRIu64 ", depth %" PRIu64 ", bytes a pair %.1f\n", s.page_entries, s.opdb.depth,
		       s.opdb.pairs ? (double)sb.len / (double)s.opdb.pairs : 0.0);
	}
	return 0;
}

struct options {
	bool json, pages;
	unsigned int width;
	const char *order, *output;
};

/* What --width and --order ask for, on top of how a file is. */
static int target(const struct options *o, const struct abi_format *from, struct abi_format *to)
{
	unsigned int width = o->width ? o->width : from->width;
	int r;

	*to = *from;
	if (o->order)
		r = abi_format_parse_order(to, from->kind, width, o->order);
	else if (width == from->width)
		return 0;
	else if (from->layout == ABI_ANY_ORDER)
		return msg_errno(EINVAL, "--width=%u needs an --order: this file's order has %u bytes", width, from->width);
	else
		r = abi_format_parse_order(to, from->kind, width, from->layout == ABI_BIG ? "be" : "le");
	if (r < 0)
		return msg_errno(r, "--width=%u --order=%s: no permutation of 0 to width-1", width, o->order ? o->order : "");
	to->minor = from->minor;
	return 0;
}

static int write_out(const char *path, const struct strbuf *sb)
{
	int r = !strcmp(path, "-") ? io_write_full(1, sb->buf, sb->len) : io_write_file(path, sb->buf, sb->len, 0644);

	return r < 0 ? msg_errno(r, "%s", path) : 0;
}

static int convert_session(const struct options *o, const char *from, const char *to)
{
	struct abi_format fmt, native;
	AUTO_STRBUF why = STRBUF_INIT;
	int r;

	abi_format_init(&native, ABI_OPDB, o->width ? o->width : 8, NULL);
	r = target(o, &native, &fmt);
	if (r < 0)
		return r;
	r = session_convert(from, to, &fmt, &why);
	if (r < 0)
		msg_error("%s", strbuf_str(&why));
	return r;
}

static int cmd_convert(const struct options *o, char **args, int n)
{
	AUTO_STRBUF sb = STRBUF_INIT, out = STRBUF_INIT_CAP(FILE_MAX);
	struct abi_format from, to;
	struct abi_fault fault = { 0 };
	struct stat st;
	int r;

	if (n != 2)
		return msg_errno(EINVAL, "convert takes FROM and TO");
	if (stat(args[0], &st) == 0 && S_ISDIR(st.st_mode))
		return convert_session(o, args[0], args[1]);
	r = slurp(args[0], &sb);
	if (r < 0)
		return r;
	r = abi_prefix_read(&from, 0, strbuf_str(&sb), sb.len, &fault);
	if (r < 0)
		return opabi_fault(args[0], r, &fault);
	r = target(o, &from, &to);
	if (r < 0)
		return r;
	r = abi_file_convert(sb.buf, sb.len, &to, &out, &fault);
	return r < 0 ? opabi_fault(args[0], r, &fault) : write_out(args[1], &out);
}

static int cmd_merge(const struct options *o, char **args, int n)
{
	struct strbuf sum = STRBUF_INIT;
	struct abi_format from, to = { 0 };
	int r = 0;

	if (n < 1 || !o->output)
		return msg_errno(EINVAL, "merge takes -o TO and the files");
	for (int i = 0; i < n && r >= 0; i++) {
		AUTO_STRBUF sb = STRBUF_INIT;
		struct strbuf next = STRBUF_INIT_CAP(FILE_MAX);
		struct abi_fault fault = { 0 };
		r = slurp(args[i], &sb);
		if (r < 0)
			break;
		r = abi_prefix_read(&from, 0, strbuf_str(&sb), sb.len, &fault);
		if (r >= 0 && !i) {
			r = target(o, &from, &to);
			if (r < 0)
				break;
		}
		if (r >= 0 && from.kind != to.kind)
			r = msg_errno(EINVAL, "%s: %s cannot be merged with %s", args[i], abi_kind_name(from.kind), abi_kind_name(to.kind));
		else if (r >= 0)
			r = i ? abi_file_merge(sum.buf, sum.len, sb.buf, sb.len, &to, &next, &fault) :
				abi_file_convert(sb.buf, sb.len, &to, &next, &fault);
		if (r < 0 && (fault.rule || r != -EINVAL))
			opabi_fault(args[i], r, &fault);
		strbuf_done(&sum);
		sum = next;
	}
	if (r >= 0)
		r = write_out(o->output, &sum);
	strbuf_done(&sum);
	return r;
}

static int cmd_files(const struct options *o, const char *cmd, char **args, int n)
{
	int worst = 0;

	if (n < 1)
		return msg_errno(EINVAL, "%s takes at least one file", cmd);
	for (int i = 0; i < n; i++) {
		int r;
		if (!strcmp(cmd, "dump")) {
			AUTO_STRBUF sb = STRBUF_INIT;
			r = slurp(args[i], &sb);
			if (r >= 0)
				r = opabi_dump(args[i], strbuf_str(&sb), sb.len, o->json, o->pages);
		} else {
			r = check_or_stat(args[i], !strcmp(cmd, "stat"));
		}
		worst = r < 0 ? r : worst;
	}
	return worst;
}

static int run(const struct options *o, const char *cmd, char **args, int n)
{
	if (!strcmp(cmd, "dump") || !strcmp(cmd, "check") || !strcmp(cmd, "stat"))
		return cmd_files(o, cmd, args, n);
	if (!strcmp(cmd, "convert"))
		return cmd_convert(o, args, n);
	if (!strcmp(cmd, "merge"))
		return cmd_merge(o, args, n);
	msg_error("%s: no such command; there are dump, check, stat, convert and merge", cmd);
	return -EINVAL;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' }, { "pages", no_argument, NULL, 'p' }, { "width", required_argument, NULL, 'w' },
		{ "order", required_argument, NULL, 'O' }, { "output", required_argument, NULL, 'o' },
		{ "help", no_argument, NULL, '?' }, { "version", no_argument, NULL, 'v' }, { 0 },
	};
	struct options o = { 0 };
	uint64_t width;
	int c, at;

	msg_init("opabi");
	while ((at = optind, c = getopt_long(argc, argv, "jpw:O:o:v?", longs, NULL)) != -1) {
		switch (c) {
		case 'j': o.json = true; break;
		case 'p': o.pages = true; break;
		case 'O': o.order = optarg; break;
		case 'o': o.output = optarg; break;
		case 'w':
			if (util_parse_u64(optarg, 10, ABI_MAX_WIDTH, &width) < 0 || !width) {
				msg_error("--width=%s: not a number from 1 to 255", optarg);
				return 2;
			}
			o.width = (unsigned int)width;
			break;
		case 'v':
			printf("opabi (opjit) %s\n", PACKAGE_VERSION);
			return 0;
		default:
			if (!strcmp(argv[at], "--help") || !strcmp(argv[at], "-?")) {
				fputs(usage, stdout);
				return 0;
			}
			return 2;
		}
	}
	if (optind >= argc) {
		fputs(usage, stderr);
		return 2;
	}
	c = run(&o, argv[optind], argv + optind + 1, argc - optind - 1);
	if (fflush(stdout) != 0 || ferror(stdout))
		c = msg_errno(errno, "standard output");
	return c < 0 ? 1 : 0;
}
