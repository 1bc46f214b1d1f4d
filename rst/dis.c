/* SPDX-License-Identifier: GPL-3.0-or-later */
#define PACKAGE "opjit"
#include <dis-asm.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "format/rst/sparc.h"
#include "rst/dis.h"

struct dis {
	struct disassemble_info x86, sparc;
	disassembler_ftype x86_fn, sparc_fn;
	struct strbuf *out;
	uint8_t bytes[16];
	void *lib;
};

static PRINTF_LIKE(2, 3) int add(void *arg, const char *fmt, ...)
{
	struct dis *d = arg;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(d->out, fmt, ap);
	va_end(ap);
	return 0;
}

static PRINTF_LIKE(3, 4) int add_styled(void *arg, enum disassembler_style style, const char *fmt, ...)
{
	struct dis *d = arg;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(d->out, fmt, ap);
	va_end(ap);
	return 0;
}

static void print_addr(bfd_vma addr, struct disassemble_info *info)
{
	add(info->stream, "0x%llx", (unsigned long long)addr);
}

static void set_up(struct dis *d, struct disassemble_info *i, enum bfd_architecture arch, unsigned long mach,
		   enum bfd_endian endian)
{
	init_disassemble_info(i, d, add, add_styled);
	i->arch = arch;
	i->mach = mach;
	i->endian = i->endian_code = endian;
	i->buffer = d->bytes;
	i->print_address_func = print_addr;
}

int dis_new(struct dis **ret)
{
	struct dis *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	set_up(d, &d->x86, bfd_arch_i386, bfd_mach_x86_64, BFD_ENDIAN_LITTLE);
	disassemble_init_for_target(&d->x86);
	d->x86_fn = disassembler(bfd_arch_i386, FALSE, bfd_mach_x86_64, NULL);
	if (!d->x86_fn) {
		free(d);
		return -ENOTSUP;
	}
	*ret = d;
	return 0;
}

void dis_free(struct dis *d)
{
	if (!d)
		return;
	/* The library stays loaded: its target data may be in use until the end. */
	free(d);
}

/*
 * The libopcodes that is linked may be built for this machine alone. Debian has one for SPARC under another name, of the
 * same version and so of the same interface; it is loaded beside the first one with its symbols to itself.
 */
int dis_use_gnu_sparc(struct dis *d)
{
	disassembler_ftype (*find)(enum bfd_architecture, bool, unsigned long, bfd *) = NULL;
	void (*init)(struct disassemble_info *) = NULL;
	char name[256];
	const char *dash;
	Dl_info info;

	set_up(d, &d->sparc, bfd_arch_sparc, bfd_mach_sparc_v9b, BFD_ENDIAN_BIG);
	d->sparc_fn = disassembler(bfd_arch_sparc, TRUE, bfd_mach_sparc_v9b, NULL);
	if (d->sparc_fn) {
		disassemble_init_for_target(&d->sparc);
		return 0;
	}
	/* …/libopcodes-2.40-system.so → …/libopcodes-2.40-sparc64.so */
	if (!dladdr((void *)(uintptr_t)&disassembler, &info) || !info.dli_fname)
		return -ENOTSUP;
	dash = strrchr(info.dli_fname, '-');
	if (!dash || snprintf(name, sizeof(name), "%.*s-sparc64.so", (int)(dash - info.dli_fname), info.dli_fname) >= (int)sizeof(name))
		return -ENOTSUP;
	d->lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (d->lib) {
		*(void **)&find = dlsym(d->lib, "disassembler");
		*(void **)&init = dlsym(d->lib, "disassemble_init_for_target");
	}
	if (!find || !init)
		return -ENOTSUP;
	d->sparc_fn = find(bfd_arch_sparc, TRUE, bfd_mach_sparc_v9b, NULL);
	if (!d->sparc_fn)
		return -ENOTSUP;
	init(&d->sparc);
	return 0;
}

void dis_sparc(struct dis *d, uint32_t word, uint64_t pc, struct strbuf *out)
{
	char text[SPARC_TEXT_SIZE];
	uint32_t be = __builtin_bswap32(word);

	if (d && d->sparc_fn) {
		memcpy(d->bytes, &be, 4);
		d->out = out;
		d->sparc.buffer_vma = pc;
		d->sparc.buffer_length = 4;
		if (d->sparc_fn(pc, &d->sparc) == 4)
			return;
	}
	sparc_disassemble(word, pc, text);
	strbuf_addstr(out, text);
}

int dis_x86(struct dis *d, const uint8_t *bytes, size_t len, uint64_t pc, struct strbuf *out)
{
	size_t before = out->len;
	int n;

	len = MIN(len, sizeof(d->bytes));
	memset(d->bytes, 0, sizeof(d->bytes));
	memcpy(d->bytes, bytes, len);
	d->out = out;
	d->x86.buffer_vma = pc;
	d->x86.buffer_length = len;
	n = d->x86_fn(pc, &d->x86);
	while (out->len > before && out->buf[out->len - 1] == ' ')
		out->buf[--out->len] = 0;
	if (n <= 0 || (size_t)n > len || strstr(strbuf_str(out) + before, "(bad)"))
		return -EINVAL;
	return n;
}
