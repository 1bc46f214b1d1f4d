/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * jitself HOW MS [S|FILE]: a program that makes two functions, twice and once, and (S seconds later, or when FILE is there) runs them in a ratio of 2 : 1
 * for MS of CPU time; what each took goes to standard output. HOW it tells of them:
 *	gdb      an ELF object in the list of GDB's JIT interface
 *	gdb-bad  the same, behind entries that are damaged in all ways, and at the end of a list that is a ring
 *	api      as users of Intel's JIT API do: the collector that INTEL_JIT_PROFILER64 names
 *	none     not at all
 */
#include <dlfcn.h>
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct jit_code_entry {
	struct jit_code_entry *next, *prev;
	const char *symfile_addr;
	uint64_t symfile_size;
};

struct jit_descriptor {
	uint32_t version, action_flag;
	struct jit_code_entry *relevant_entry, *first_entry;
};

extern struct jit_descriptor __jit_debug_descriptor;
struct jit_descriptor __jit_debug_descriptor = { 1, 0, NULL, NULL };
extern void __jit_debug_register_code(void);
__attribute__((noinline)) void __jit_debug_register_code(void) { __asm__ volatile("" ::: "memory"); }

typedef void spin_fn(uint64_t n);

static spin_fn *make(uint8_t *at)
{
	static const uint8_t code[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 }; /* 1: dec rdi; jnz 1b; ret */

	memcpy(at, code, sizeof(code));
	return (spin_fn *)(uintptr_t)at;
}

/* --- GDB -------------------------------------------------------------------------------------------------- */

#define STRINGS "\0twice\0once\0"

struct object {
	Elf64_Ehdr eh;
	Elf64_Shdr sh[4];
	Elf64_Sym sym[3];
	char strings[sizeof(STRINGS)];
};

static struct object object;
static struct jit_code_entry good, bad[4];

static void object_make(uint8_t *code)
{
	object.eh = (Elf64_Ehdr){ .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_REL,
				  .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_shoff = offsetof(struct object, sh),
				  .e_ehsize = sizeof(Elf64_Ehdr), .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 4, .e_shstrndx = 3 };
	object.sh[1] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				     .sh_addr = (uintptr_t)code, .sh_size = 4096, .sh_addralign = 16 };
	object.sh[2] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_SYMTAB, .sh_offset = offsetof(struct object, sym),
				     .sh_size = sizeof(object.sym), .sh_link = 3, .sh_info = 1, .sh_entsize = sizeof(Elf64_Sym),
				     .sh_addralign = 8 };
	object.sh[3] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct object, strings),
				     .sh_size = sizeof(STRINGS), .sh_addralign = 1 };
	object.sym[1] = (Elf64_Sym){ .st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1, .st_size = 64 };
	object.sym[2] = (Elf64_Sym){ .st_name = 7, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1, .st_value = 1024,
				     .st_size = 64 };
	memcpy(object.strings, STRINGS, sizeof(STRINGS));
}

static void gdb_register(struct jit_code_entry *e, const void *bytes, uint64_t size)
{
	e->symfile_addr = bytes;
	e->symfile_size = size;
	e->next = __jit_debug_descriptor.first_entry;
	__jit_debug_descriptor.relevant_entry = __jit_debug_descriptor.first_entry = e;
	__jit_debug_descriptor.action_flag = 1;
	__jit_debug_register_code();
}

static void tell_gdb(uint8_t *code, int damaged)
{
	static const char rubbish[256] = "\177ELF\2\1\1";

	object_make(code);
	gdb_register(&good, &object, sizeof(object));
	if (damaged) {
		gdb_register(&bad[0], rubbish, sizeof(rubbish));
		gdb_register(&bad[1], (void *)8, 4096);
		gdb_register(&bad[2], &object, UINT64_MAX);
		gdb_register(&bad[3], &object, 70);
		good.next = &bad[1]; /* a ring */
	}
}

/* --- Intel's JIT API ---------------------------------------------------------------------------------------- */

struct api_line {
	unsigned int offset, line;
};

struct api_load2 {
	unsigned int id;
	const char *name;
	void *addr;
	unsigned int size, n_lines;
	struct api_line *lines;
	const char *class_name, *source, *module;
};

struct api_load1 {
	unsigned int id;
	const char *name;
	void *addr;
	unsigned int size, n_lines;
	struct api_line *lines;
	unsigned int class_id;
	const char *class_name, *source;
};

struct api_inline {
	unsigned int id, parent;
	const char *name;
	void *addr;
	unsigned int size, n_lines;
	struct api_line *lines;
	const char *class_name, *source;
};

static void tell_api(uint8_t *code)
{
	const char *path = getenv("INTEL_JIT_PROFILER64");
	void *lib = path && *path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*notify)(int, void *) = lib ? (int (*)(int, void *))(uintptr_t)dlsym(lib, "NotifyEvent") : NULL;
	int (*begin)(void) = lib ? (int (*)(void))(uintptr_t)dlsym(lib, "Initialize") : NULL;
	struct api_line lines[] = { { 3, 11 }, { 5, 12 }, { 64, 13 } }, inner = { 5, 99 };
	struct api_inline in = { 7, 1, "inner", code, 5, 1, &inner, NULL, "inner.src" };
	struct api_load2 twice = { 1, "twice", code, 64, 3, lines, "Fixture", "outer.src", "module" };
	struct api_load1 once = { 2, "once", code + 1024, 64, 3, lines, 0, "Fixture", "outer.src" };
	struct api_load2 gone = { 3, "gone", code + 2048, 64, 0, NULL, NULL, NULL, NULL };
	struct api_load1 update = { .id = 2, .addr = code + 1024, .size = 6 };

	if (!notify || !begin || begin() != 1)
		return;
	notify(16, &in);
	notify(21, &twice);
	notify(13, &once);
	notify(22, &gone);
	notify(14, &gone);
	notify(15, &update);
	notify(17, NULL);
	notify(99, &gone);
	notify(21, NULL);
}

/* ------------------------------------------------------------------------------------------------------------ */

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

int main(int argc, char **argv)
{
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t twice_ns = 0, once_ns = 0, want = (argc > 2 ? strtoull(argv[2], NULL, 10) : 1000) * 1000000u, n = 2000000;
	spin_fn *twice, *once;

	if (argc < 2 || code == MAP_FAILED)
		return 2;
	twice = make(code);
	once = make(code + 1024);
	make(code + 2048);
	if (!strncmp(argv[1], "gdb", 3))
		tell_gdb(code, argv[1][3] != '\0');
	else if (!strcmp(argv[1], "api"))
		tell_api(code);
	if (argc > 3 && strspn(argv[3], "0123456789") < strlen(argv[3])) {
		for (int i = 0; access(argv[3], F_OK) < 0; i++) {
			if (i == 6000)
				return 2;
			usleep(10000);
		}
	} else if (argc > 3) {
		sleep((unsigned int)strtoul(argv[3], NULL, 10));
	}
	while (twice_ns + once_ns < want) {
		uint64_t a = cpu_ns(), b;
		twice(2 * n);
		b = cpu_ns();
		once(n);
		twice_ns += b - a;
		once_ns += cpu_ns() - b;
	}
	printf("%llu %llu\n", (unsigned long long)twice_ns, (unsigned long long)once_ns);
	return 0;
}
