/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/msg.h"
#include "report/opabi.h"

struct dump {
	const char *path;
	struct abi_format fmt;
	const uint8_t *data;
	size_t len;
	bool json, pages;
	uint64_t n;            /* items printed */
	struct abi_fault fault;
};

void opabi_print_order(const struct abi_format *f)
{
	for (unsigned int i = 0; i < f->width; i++)
		printf("%s%u", i ? "," : "", f->order[i]);
}

/* Bytes as they are in JSON's ASCII: control bytes and those ≥ 0x80 as \u00XX, so any bytes come back. */
static void print_string(const char *s, bool json)
{
	if (json)
		putchar('"');
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		if (c < 0x20 || c >= 0x7f)
			printf(json ? "\\u%04x" : "\\x%02x", c);
		else if (c == '\\' || (json && c == '"'))
			printf("\\%c", c);
		else
			putchar(c);
	}
	if (json)
		putchar('"');
}

static void start_item(struct dump *d)
{
	if (d->json)
		fputs(d->n ? ",\n    " : "\n    ", stdout);
	d->n++;
}

static void head(struct dump *d)
{
	if (d->json) {
		fputs("{ \"file\": ", stdout);
		print_string(d->path, true);
		printf(", \"kind\": \"%s\", \"major\": %u, \"minor\": %u, \"width\": %u, \"order\": [", abi_kind_name(d->fmt.kind),
		       d->fmt.major, d->fmt.minor, d->fmt.width);
		opabi_print_order(&d->fmt);
		putchar(']');
	} else {
		printf("%s: %s %u.%u, width %u, order ", d->path, abi_kind_name(d->fmt.kind), d->fmt.major, d->fmt.minor, d->fmt.width);
		opabi_print_order(&d->fmt);
		putchar('\n');
	}
}

static const char *note_name(uint64_t type)
{
	switch (type) {
	case OPND_FORK: return "FORK";
	case OPND_MAP: return "MAP";
	case OPND_EXEC: return "EXEC";
	case OPND_DROP_MODULES: return "DROP_MODULES";
	case OPND_EXIT: return "EXIT";
	default: return "unknown";
	}
}

static int truncated(struct dump *d, size_t at)
{
	d->fault = (struct abi_fault){ .rule = "truncated: the file ends inside a note or buffer", .at = at };
	return -EBADMSG;
}

static int dump_opnd(struct dump *d)
{
	size_t pos = abi_prefix_len(&d->fmt);
	struct opnd_note n;
	int r;

	if (d->json)
		fputs(",\n  \"notes\": [", stdout);
	while ((r = opnd_next(&d->fmt, d->data, d->len, &pos, &n, &d->fault)) > 0) {
		start_item(d);
		if (d->json) {
			printf("{ \"type\": \"%s\", \"number\": %" PRIu64 ", \"address\": \"0x%" PRIx64 "\", \"length\": \"0x%" PRIx64
			       "\", \"offset\": \"0x%" PRIx64 "\", \"pid\": %" PRIu64 ", \"hash\": ", note_name(n.type), n.type, n.address,
			       n.length, n.offset, n.pid);
			if (n.hash == OPND_NO_PATH)
				fputs("null }", stdout);
			else
				printf("%" PRIu64 " }", n.hash);
			continue;
		}
		if (n.type == OPND_FORK)
			printf("FORK parent %" PRIu64 " child %" PRIu64 "\n", n.pid, n.address);
		else
			printf("%s(%" PRIu64 ") pid %" PRIu64 " address 0x%" PRIx64 " length 0x%" PRIx64 " offset 0x%" PRIx64 " path %" PRId64 "\n",
			       note_name(n.type), n.type, n.pid, n.address, n.length, n.offset, (int64_t)n.hash);
	}
	return r == -EAGAIN ? truncated(d, pos) : r;
}

static int dump_samples(struct dump *d, size_t *pos, uint64_t n)
{
	struct opsd_sample s;

	for (uint64_t i = 0; i < n; i++) {
		int r = opsd_sample_next(&d->fmt, d->data, d->len, pos, &s, &d->fault);
		if (r <= 0)
			return r && r != -EAGAIN ? r : truncated(d, *pos);
		if (d->json)
			printf("%s{ \"eip\": \"0x%" PRIx64 "\", \"count\": %" PRIu64 ", \"counter\": %" PRIu64 ", \"pid\": %" PRIu64 " }",
			       i ? ", " : "", s.eip, s.count, s.counter, s.pid);
		else
			printf("  eip 0x%" PRIx64 " count %" PRIu64 " counter %" PRIu64 " pid %" PRIu64 "\n", s.eip, s.count, s.counter, s.pid);
	}
	return 0;
}

static int dump_opsd(struct dump *d)
{
	static const char *const states[] = { "STOPPED", "STOPPING", "RUNNING" };
	size_t pos = abi_prefix_len(&d->fmt);
	struct opsd_head h;
	int r;

	if (d->json)
		fputs(",\n  \"buffers\": [", stdout);
	while ((r = opsd_head_next(&d->fmt, d->data, d->len, &pos, true, &h, &d->fault)) > 0) {
		const char *state = h.state < 3 ? states[h.state] : "unknown";
		start_item(d);
		if (d->json)
			printf("{ \"cpu\": %" PRIu64 ", \"state\": \"%s\", \"samples\": [", h.cpu, state);
		else
			printf("buffer of cpu %" PRIu64 ": %" PRIu64 " samples, %s(%" PRIu64 ")\n", h.cpu, h.n, state, h.state);
		r = dump_samples(d, &pos, h.n);
		if (r < 0)
			return r;
		if (d->json)
			fputs("] }", stdout);
	}
	return r == -EAGAIN ? truncated(d, pos) : r;
}

static int dump_ophd(struct dump *d)
{
	AUTO(ophd_done) struct ophd h = { 0 };
	int r = ophd_read(&h, d->data, d->len, &d->fault);

	if (r < 0)
		return r;
	printf(d->json ? ",\n  \"size\": %" PRIu32 ", \"pool\": %" PRIu32 ", \"entries\": [" : "%" PRIu32 " entries, pool of %" PRIu32 " bytes\n",
	       h.n, h.pool_len);
	for (uint32_t i = 0; i < h.n && r >= 0; i++) {
		AUTO_STRBUF path = STRBUF_INIT;
		if (!ophd_used(&h, i))
			continue;
		r = ophd_path(&h, i, &path);
		start_item(d);
		if (d->json) {
			printf("{ \"index\": %" PRIu32 ", \"parent\": %" PRIu32 ", \"name\": %" PRIu32 ", \"path\": ", i, h.parent[i], h.name[i]);
			print_string(strbuf_str(&path), true);
			fputs(" }", stdout);
		} else {
			printf("  %" PRIu32 " parent %" PRIu32 " name %" PRIu32 " ", i, h.parent[i], h.name[i]);
			print_string(strbuf_str(&path), false);
			putchar('\n');
		}
	}
	return r;
}

static int dump_pair(void *arg, uint64_t key, uint64_t value)
{
	struct dump *d = arg;

	start_item(d);
	if (d->json) {
		printf("{ \"key\": \"0x%" PRIx64 "\", \"value\": ", key);
		if (value == UINT64_MAX)
			fputs("\"overflowed\" }", stdout);
		else
			printf("%" PRIu64 " }", value);
	} else if (value == UINT64_MAX) {
		printf("  0x%" PRIx64 " overflowed\n", key);
	} else {
		printf("  0x%" PRIx64 " %" PRIu64 "\n", key, value);
	}
	return 0;
}

static uint64_t page_word(const struct opdb *db, uint64_t page, uint64_t word)
{
	uint64_t v = 0;

	if (abi_word_nil(&db->fmt, db->data + db->pages_at + page * db->page_bytes + word * db->fmt.width, &v) < 0)
		return UINT64_MAX;
	return v;
}

static void dump_pages(struct dump *d, const struct opdb *db)
{
	for (uint64_t p = 1; p < db->used; p++) {
		uint64_t n = MIN(page_word(db, p, 0), db->page_entries);
		if (d->json)
			printf("%s\n    { \"page\": %" PRIu64 ", \"left\": %" PRIu64 ", \"entries\": [", p > 1 ? "," : "", p, page_word(db, p, 1));
		else
			printf("page %" PRIu64 "%s: %" PRIu64 " entries, left %" PRIu64 "\n", p, p == db->root ? " (root)" : "", n, page_word(db, p, 1));
		for (uint64_t i = 0; i < n; i++)
			printf(d->json ? "%s{ \"key\": \"0x%" PRIx64 "\", \"value\": %" PRIu64 ", \"right\": %" PRIu64 " }" :
					 "%s  0x%" PRIx64 " %" PRIu64 " right %" PRIu64 "\n",
			       d->json && i ? ", " : "", page_word(db, p, 4 + 3 * i), page_word(db, p, 3 + 3 * i), page_word(db, p, 2 + 3 * i));
		if (d->json)
			fputs("] }", stdout);
	}
}

static int dump_opdb(struct dump *d)
{
	struct opdb db;
	int r = opdb_read(&db, d->data, d->len, &d->fault);

	if (r >= 0)
		r = opdb_check(&db, NULL, &d->fault);
	if (r < 0)
		return r;
	printf(d->json ? ",\n  \"total\": %" PRIu64 ", \"used\": %" PRIu64 ", \"root\": %" PRIu64 ", \"page_entries\": %" PRIu64 ", \"%s\": [" :
			 "total size %" PRIu64 ", current size %" PRIu64 ", root %" PRIu64 ", %" PRIu64 " entries a page%s\n",
	       db.total, db.used, db.root, db.page_entries, !d->json ? "" : d->pages ? "pages" : "pairs");
	if (d->pages)
		dump_pages(d, &db);
	else
		r = opdb_each(&db, dump_pair, d, &d->fault);
	return r;
}

int opabi_dump(const char *path, const void *data, size_t len, bool json, bool pages)
{
	static int (*const dumps[])(struct dump *) = {
		[ABI_OPND] = dump_opnd, [ABI_OPSD] = dump_opsd, [ABI_OPHD] = dump_ophd, [ABI_OPDB] = dump_opdb,
	};
	struct dump d = { .path = path, .data = data, .len = len, .json = json, .pages = pages };
	int r = abi_prefix_read(&d.fmt, 0, data, len, &d.fault);

	if (r < 0)
		return opabi_fault(path, r, &d.fault);
	/* JSON is all or nothing: a file that breaks a rule gives none. */
	r = json ? abi_file_check(data, len, NULL, &d.fault) : 0;
	if (r < 0)
		return opabi_fault(path, r, &d.fault);
	head(&d);
	r = dumps[d.fmt.kind](&d);
	if (json)
		fputs("\n  ] }\n", stdout);
	fflush(stdout);
	return r < 0 ? opabi_fault(path, r, &d.fault) : 0;
}
