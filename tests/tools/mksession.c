/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mksession: makes sessions and JIT images out of a script on standard input, for the tests of the reports.
 * Words are separated by tabs; \xNN stands for a byte. Lines:
 *
 *	session DIR [stacks]          cpu NAME MHZ             event INDEX NAME DESC COUNT FREQ UM TIMER
 *	note KEY VALUE                total FIELD N            file KIND IMAGE APP_PATH APP EVENT TGID TID CPU START END
 *	add FILE KEY COUNT            frame PARENT FILE KEY    stack NODE COUNT            flush
 *	save NAME                     jo PATH                  sym OFFSET SIZE NAME        end
 *
 * Files and frames are numbered in the order of their lines, from 0 and from 1.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/io.h"
#include "lib/msg.h"
#include "session/session.h"

#define MAX_WORDS 16
#define MAX_NUMBERS 65536
#define TEXT_AT 4096

static struct session_store *store;
static struct session_store_opts opts;
static char *dir, *cpu;
static int64_t files[MAX_NUMBERS], frames[MAX_NUMBERS];
static size_t n_files, n_frames = 1;

static char *jo_path;
static struct strbuf jo_syms = STRBUF_INIT, jo_strs = STRBUF_INIT;
static uint64_t jo_end;

static uint64_t num(const char *s)
{
	return strtoull(s, NULL, 0);
}

static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++)
		if (s[0] == '\\' && s[1] == 'x') {
			unsigned int c;

			sscanf(s + 2, "%2x", &c);
			*to++ = (char)c;
			s += 3;
		} else {
			*to++ = *s;
		}
	*to = '\0';
}

static int open_store(void)
{
	return store ? 0 : session_store_new(&store, &opts);
}

static int total(const char *field, uint64_t n)
{
	struct session_totals *t = session_store_totals(store);
#define T(f) if (!strcmp(field, #f)) return t->f = n, 0
	T(kernel); T(native); T(jit_method); T(jit_stub); T(jit_interpreter); T(gap); T(anon); T(unknown); T(lost);
	T(exact); T(backdated); T(ambiguous); T(truncated_chains); T(chains);
#undef T
	return -EINVAL;
}

static int add_file(char **w)
{
	static const char *const kinds[] = { "file", "kernel", "jit", "anon" };
	struct session_file f = { .image = w[2], .app_path = w[3], .app = w[4], .event = (uint32_t)num(w[5]),
				  .tgid = (int32_t)num(w[6]), .tid = (int32_t)num(w[7]), .cpu = (int32_t)num(w[8]),
				  .start = num(w[9]), .end = num(w[10]) };

	for (f.kind = 0; f.kind < ARRAY_SIZE(kinds) && strcmp(kinds[f.kind], w[1]); f.kind++)
		;
	if (n_files == MAX_NUMBERS)
		return -E2BIG;
	files[n_files] = session_store_file(store, &f);
	return files[n_files] < 0 ? (int)files[n_files] : (int)(n_files++ * 0);
}

static int add_sym(char **w)
{
	Elf64_Sym s = { .st_name = (Elf64_Word)jo_strs.len, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1,
			.st_value = TEXT_AT + num(w[1]), .st_size = num(w[2]) };

	jo_end = MAX(jo_end, s.st_value + s.st_size);
	strbuf_add(&jo_syms, &s, sizeof(s));
	strbuf_add(&jo_strs, w[3], strlen(w[3]) + 1);
	return 0;
}

static int write_jo(void)
{
	static const char names[] = "\0.text\0.symtab\0.strtab\0.shstrtab";
	AUTO_STRBUF out = STRBUF_INIT;
	uint64_t symtab = ALIGN_UP(jo_end, (uint64_t)16), strtab = symtab + jo_syms.len, shstr = strtab + jo_strs.len;
	uint64_t shdrs = ALIGN_UP(shstr + sizeof(names), (uint64_t)16);
	Elf64_Ehdr eh = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_DYN,
			  .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_phoff = sizeof(eh), .e_shoff = shdrs,
			  .e_ehsize = sizeof(eh), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1,
			  .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 5, .e_shstrndx = 4 };
	Elf64_Phdr ph = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = jo_end, .p_memsz = jo_end, .p_align = 4096 };
	Elf64_Shdr sh[5] = {
		{ 0 },
		{ .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_addr = TEXT_AT,
		  .sh_offset = TEXT_AT, .sh_size = jo_end - TEXT_AT, .sh_addralign = 16 },
		{ .sh_name = 7, .sh_type = SHT_SYMTAB, .sh_offset = symtab, .sh_size = jo_syms.len, .sh_link = 3, .sh_info = 1,
		  .sh_addralign = 8, .sh_entsize = sizeof(Elf64_Sym) },
		{ .sh_name = 15, .sh_type = SHT_STRTAB, .sh_offset = strtab, .sh_size = jo_strs.len, .sh_addralign = 1 },
		{ .sh_name = 23, .sh_type = SHT_STRTAB, .sh_offset = shstr, .sh_size = sizeof(names), .sh_addralign = 1 },
	};

	strbuf_add(&out, &eh, sizeof(eh));
	strbuf_add(&out, &ph, sizeof(ph));
	while (out.len < symtab)
		strbuf_addch(&out, out.len < TEXT_AT ? 0 : (char)0x90); /* nop */
	strbuf_add(&out, jo_syms.buf, jo_syms.len);
	strbuf_add(&out, jo_strs.buf, jo_strs.len);
	strbuf_add(&out, names, sizeof(names));
	while (out.len < shdrs)
		strbuf_addch(&out, 0);
	strbuf_add(&out, sh, sizeof(sh));
	return out.error ? out.error : io_replace(jo_path, out.buf, out.len, 0644);
}

static int start_jo(const char *path)
{
	static const Elf64_Sym none;
	AUTO_FREE char *parent = strdup(path);
	char *slash = parent ? strrchr(parent, '/') : NULL;

	strbuf_reset(&jo_syms);
	strbuf_reset(&jo_strs);
	strbuf_add(&jo_syms, &none, sizeof(none));
	strbuf_addch(&jo_strs, 0);
	jo_end = TEXT_AT;
	jo_path = strdup(path);
	if (slash) {
		*slash = '\0';
		return io_mkdirs(parent, 0755);
	}
	return 0;
}

static int line_of(char **w, size_t n)
{
	if (!strcmp(w[0], "session") && n >= 2) {
		opts = (struct session_store_opts){ .dir = dir = strdup(w[1]), .stacks = n > 2, .no_sync = true };
		store = NULL;
		n_files = 0;
		n_frames = 1;
		return 0;
	}
	if (!strcmp(w[0], "cpu") && n == 3) {
		opts.cpu_type = cpu = strdup(w[1]);
		opts.mhz = strtod(w[2], NULL);
		return 0;
	}
	if (!strcmp(w[0], "jo") && n == 2)
		return start_jo(w[1]);
	if (!strcmp(w[0], "sym") && n == 4)
		return add_sym(w);
	if (!strcmp(w[0], "end"))
		return write_jo();
	if (open_store() < 0)
		return -EIO;
	if (!strcmp(w[0], "event") && n == 8) {
		struct session_event e = { w[2], w[3], num(w[4]), num(w[5]), (uint32_t)num(w[6]), num(w[7]) != 0 };

		return session_store_event(store, (uint32_t)num(w[1]), &e);
	}
	if (!strcmp(w[0], "note") && n == 3)
		return session_store_note(store, w[1], w[2]);
	if (!strcmp(w[0], "total") && n == 3)
		return total(w[1], num(w[2]));
	if (!strcmp(w[0], "file") && n == 11)
		return add_file(w);
	if (!strcmp(w[0], "add") && n == 4)
		return session_store_add(store, (uint32_t)files[num(w[1])], num(w[2]), num(w[3]));
	if (!strcmp(w[0], "frame") && n == 4) {
		frames[n_frames] = session_store_frame(store, (uint64_t)frames[num(w[1])], (uint32_t)files[num(w[2])], num(w[3]));
		return frames[n_frames] < 0 ? (int)frames[n_frames] : (int)(n_frames++ * 0);
	}
	if (!strcmp(w[0], "stack") && n == 3)
		return session_store_stack_add(store, (uint64_t)frames[num(w[1])], num(w[2]));
	if (!strcmp(w[0], "save") && n == 2)
		return session_store_save(store, w[1]);
	if (!strcmp(w[0], "flush")) {
		int r = session_store_flush(store);

		session_store_free(store);
		store = NULL;
		return r;
	}
	return -EINVAL;
}

int main(void)
{
	char *line = NULL;
	size_t room = 0, at = 0;
	int r = 0;

	msg_init("mksession");
	while (!r && getline(&line, &room, stdin) >= 0) {
		char *w[MAX_WORDS], *s = line;
		size_t n = 0;

		at++;
		line[strcspn(line, "\n")] = '\0';
		if (!*line || *line == '#')
			continue;
		while (n < MAX_WORDS && s) {
			char *tab = strchr(s, '\t');

			if (tab)
				*tab++ = '\0';
			unescape(s);
			w[n++] = s;
			s = tab;
		}
		r = line_of(w, n);
		if (r < 0)
			msg_errno(r, "line %zu: %s", at, w[0]);
	}
	free(line);
	free(dir);
	free(cpu);
	free(jo_path);
	strbuf_done(&jo_syms);
	strbuf_done(&jo_strs);
	session_store_free(store);
	return r < 0;
}
