/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/disasm.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include <bfd.h>
#include <dis-asm.h>

#include "report/names.h"

#define CODE_MAX ((uint64_t)16 << 20)

extern char **environ;

struct work {
	struct sym_image *img;
	struct strbuf text;
	uint64_t start, end, shift; /* the code is disassembled at its vma + shift */
};

static int PRINTF_LIKE(2, 3) out(void *stream, const char *fmt, ...)
{
	struct work *w = stream;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&w->text, fmt, ap);
	va_end(ap);
	return 0;
}

static int PRINTF_LIKE(3, 4) out_styled(void *stream, enum disassembler_style style, const char *fmt, ...)
{
	struct work *w = stream;
	va_list ap;

	(void)style;
	va_start(ap, fmt);
	strbuf_vaddf(&w->text, fmt, ap);
	va_end(ap);
	return 0;
}

static void out_name(struct work *w, const char *name, uint64_t offset)
{
	strbuf_addstr(&w->text, " <");
	names_pretty(&w->text, name, NAMES_SMART, sym_is_jit(w->img));
	if (offset)
		strbuf_addf(&w->text, "+0x%" PRIx64, offset);
	strbuf_addch(&w->text, '>');
}

/* A target outside of a JIT region is an address of the process: what stands there in the image is a stranger. */
static void out_address(bfd_vma vma, struct disassemble_info *info)
{
	struct work *w = info->stream;
	uint64_t at = vma - w->shift, offset = 0;
	bool own = at >= w->start && at < w->end;
	const struct sym *s = own || !sym_is_jit(w->img) ? sym_at_vma(w->img, at) : NULL;
	const char *name = s || own || !sym_is_jit(w->img) ? NULL : sym_jit_name(w->img, w->start, vma, &offset);

	strbuf_addf(&w->text, "%" PRIx64, own ? at : (uint64_t)vma);
	if (s)
		out_name(w, s->name, at - s->start);
	else if (name && w->shift)
		out_name(w, name, offset);
}

static bool machine(struct sym_image *img, struct disassemble_info *info)
{
	static const struct {
		unsigned int elf;
		enum bfd_architecture arch;
		unsigned long mach32, mach64;
	} known[] = {
		{ EM_X86_64, bfd_arch_i386, bfd_mach_x64_32, bfd_mach_x86_64 },
		{ EM_386, bfd_arch_i386, bfd_mach_i386_i386, bfd_mach_i386_i386 },
		{ EM_AARCH64, bfd_arch_aarch64, bfd_mach_aarch64_ilp32, bfd_mach_aarch64 },
		{ EM_ARM, bfd_arch_arm, 0, 0 },
		{ EM_PPC64, bfd_arch_powerpc, bfd_mach_ppc, bfd_mach_ppc64 },
		{ EM_S390, bfd_arch_s390, bfd_mach_s390_31, bfd_mach_s390_64 },
		{ EM_RISCV, bfd_arch_riscv, bfd_mach_riscv32, bfd_mach_riscv64 },
	};
	bool is64;
	unsigned int m = sym_machine(img, &is64);

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].elf == m) {
			info->arch = known[i].arch;
			info->mach = is64 ? known[i].mach64 : known[i].mach32;
			return true;
		}
	return false;
}

int disasm_range(struct sym_image *img, uint64_t start, uint64_t end, disasm_fn *fn, void *arg)
{
	struct work w = { .img = img, .text = STRBUF_INIT, .start = start, .end = end };
	struct disassemble_info info = { 0 };
	disassembler_ftype dis;
	AUTO_FREE uint8_t *code = NULL;
	uint64_t len = MIN(end - start, CODE_MAX);
	uint64_t addr;
	int64_t got;
	int r = 0;

	init_disassemble_info(&info, &w, (fprintf_ftype)out, out_styled);
	if (!machine(img, &info))
		return sym_image_path(img) ? -EOPNOTSUPP : -ENOENT;
	code = malloc(len + 1);
	if (!code)
		return -ENOMEM;
	got = sym_code(img, start, code, len);
	if (got <= 0)
		return -ENOENT;
	if (sym_is_jit(img) && sym_jit_address(img, start, &addr))
		w.shift = addr - start;
	info.buffer = code;
	info.buffer_vma = start + w.shift;
	info.buffer_length = (size_t)got;
	info.endian = info.endian_code = BFD_ENDIAN_LITTLE;
	info.print_address_func = out_address;
	disassemble_init_for_target(&info);
	dis = disassembler(info.arch, false, info.mach, NULL);
	if (!dis)
		return -EOPNOTSUPP;
	for (uint64_t at = 0; at < (uint64_t)got && r >= 0;) {
		int n;

		strbuf_reset(&w.text);
		n = dis(start + w.shift + at, &info);
		r = fn(arg, start + at, n > 0 ? strbuf_str(&w.text) : "(bad)");
		at += n > 0 ? (uint64_t)n : 1;
	}
	disassemble_free_target(&info);
	strbuf_done(&w.text);
	return r < 0 ? r : 0;
}

/* --- objdump -------------------------------------------------------------------------------------------------- */

#define PARAMS_MAX 32

static int start_objdump(const char *path, uint64_t start, uint64_t end, char *params, pid_t *pid, FILE **ret)
{
	char from[64], to[64], *argv[PARAMS_MAX + 8];
	posix_spawn_file_actions_t actions;
	int fds[2], n = 0, r;

	snprintf(from, sizeof(from), "--start-address=0x%" PRIx64, start);
	snprintf(to, sizeof(to), "--stop-address=0x%" PRIx64, end);
	argv[n++] = (char *)"objdump";
	argv[n++] = (char *)"-d";
	argv[n++] = from;
	argv[n++] = to;
	for (char *save = NULL, *w = strtok_r(params, " ", &save); w && n < PARAMS_MAX; w = strtok_r(NULL, " ", &save))
		argv[n++] = w;
	argv[n++] = (char *)"--";
	argv[n++] = (char *)path;
	argv[n] = NULL;
	if (pipe(fds) < 0)
		return -errno;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
	posix_spawn_file_actions_addclose(&actions, fds[0]);
	r = posix_spawnp(pid, "objdump", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	*ret = r ? NULL : fdopen(fds[0], "r");
	if (!*ret)
		close(fds[0]);
	return r ? -r : *ret ? 0 : -ENOMEM;
}

int disasm_objdump(struct sym_image *img, uint64_t start, uint64_t end, const char *params, disasm_fn *fn, void *arg)
{
	AUTO_FREE char *words = strdup(params), *line = NULL;
	const char *path = sym_image_path(img);
	size_t room = 0;
	FILE *f = NULL;
	pid_t pid;
	int r, status;

	if (!path)
		return -ENOENT;
	if (!words)
		return -ENOMEM;
	r = start_objdump(path, start, end, words, &pid, &f);
	if (r < 0)
		return r;
	while (r >= 0 && getline(&line, &room, f) >= 0) {
		char *stop;
		uint64_t vma = strtoull(line, &stop, 16);

		line[strcspn(line, "\n")] = '\0';
		if (stop == line || *stop != ':' || line[0] != ' ')
			continue;
		for (stop++; *stop == '\t' || *stop == ' '; stop++)
			;
		for (char *t = stop; *t; t++)
			if (*t == '\t')
				*t = ' ';
		r = fn(arg, vma, stop);
	}
	fclose(f);
	if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
		return r < 0 ? r : -EIO;
	return r < 0 ? r : 0;
}
