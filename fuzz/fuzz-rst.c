/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * RST records: the first byte chooses a version (bit 7: the rest is a whole file of any form), what follows are records,
 * which are decoded, encoded, printed and checked. Encoding what was decoded must give the record back but for the bits
 * that its version does not use, and a second time exactly.
 */
#include "format/rst/sparc.h"
#include "format/rst/stream.h"
#include "rst/check.h"
#include "rst/print.h"
#include "tests/unit/rst-mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const unsigned int versions[] = { 213, 212, 210, 209, 206, 202, 201, 200, 110, 109, 108, 106, 105, 104, 103, 102 };

static void whole_file(const uint8_t *data, size_t len)
{
	static uint8_t recs[512 * RST_REC_SIZE];
	struct mem m = { data, len };
	const char *why;
	struct rst_in *in;
	size_t all = 0;
	ssize_t n;

	if (rst_in_new(&in, read_mem, &m, &why))
		return;
	while ((n = rst_in_read(in, recs, 512)) > 0 && all < 100000)
		all += (size_t)n;
	rst_in_free(in);
}

static void one_record(const uint8_t *rec, unsigned int version)
{
	uint8_t once[RST_REC_SIZE], twice[RST_REC_SIZE];
	char text[SPARC_TEXT_SIZE];
	struct rst_rec r;
	int cpu = rst_rec_cpu(rec, version);

	rst_rec_decode(rec, version, &r);
	if (rst_rec_encode(&r, version, once, NULL))
		__builtin_trap();
	/* All of a NULLREC is unused. */
	if (rec[0] != RST_NULLREC && rst_rec_is_clean(rec, version) && memcmp(rec, once, RST_REC_SIZE))
		__builtin_trap();
	rst_rec_decode(once, version, &r);
	if (rst_rec_encode(&r, version, twice, NULL) || memcmp(once, twice, RST_REC_SIZE))
		__builtin_trap();
	if (cpu >= 0) {
		rst_rec_set_cpu(once, version, (unsigned int)cpu);
		if (rst_rec_cpu(once, version) != cpu)
			__builtin_trap();
	}
	sparc_disassemble(rst_be32(rec + 4), rst_be64(rec + 8), text);
	sparc_ihash(rst_be32(rec + 4));
}

static void ignore(void *arg, unsigned int rule, enum check_severity sev, uint64_t recno, const char *text)
{
	size_t *n = arg;

	*n += strlen(text) + !check_rule_name(rule);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct print_opts po = { 0 };
	struct printer p;
	struct check *c;
	unsigned int version;
	size_t said = 0;

	if (!len || len > 65536)
		return 0;
	if (*data & 0x80) {
		whole_file(data + 1, len - 1);
		return 0;
	}
	version = versions[*data & 15];
	po.fields = *data & 0x10;
	po.verbose = po.values = po.phys = *data & 0x20;
	po.gnu = po.no_recno = *data & 0x40;
	if (printer_init(&p, &po, version))
		return 0;
	if (check_new(&c, CHECK_ALL, ignore, &said)) {
		printer_done(&p);
		return 0;
	}
	data++;
	len--;
	for (size_t i = 0; i < len / RST_REC_SIZE; i++) {
		const uint8_t *rec = data + i * RST_REC_SIZE;

		one_record(rec, version);
		check_record(c, rec);
		said += strlen(printer_line(&p, i, rec));
	}
	check_end(c, len % RST_REC_SIZE);
	check_free(c);
	printer_done(&p);
	return 0;
}
