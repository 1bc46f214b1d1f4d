/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * run-image DIR ROUNDS: posts three functions, maps the image that libopagent makes of them, and runs the middle one out
 * of that mapping, so that a profiler of files has the growing image in its records. Prints the instance's directory.
 * Status 77 where there is no code for this machine, 1 if something fails.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libopagent/opagent.h"

#ifdef __x86_64__
/* mov %edi,%ecx; 1: dec %ecx; jnz 1b; ret; with a number of its own behind it */
static const uint8_t code[] = { 0x89, 0xf9, 0xff, 0xc9, 0x75, 0xfc, 0xc3, 0x0f, 0x0b, 0x5a, 0xa5, 0x5a, 0xa5, 0x11, 0x22, 0x33 };

int main(int argc, char **argv)
{
	static const char *const names[] = { "void pkg.Image.before()", "void pkg.Image.spin(int)", "void pkg.Image.after()" };
	struct opagent_open_opts opts = { .size = sizeof(opts), .dir = argc > 1 ? argv[1] : NULL };
	struct opagent *agent;
	char path[4096];
	uint8_t other[300];
	const uint8_t *map, *at;

	if (argc != 3 || opagent_open(&agent, &opts) < 0)
		return 1;
	memset(other, 0x90, sizeof(other));
	for (int i = 0; i < 3; i++) {
		struct opagent_region r = { .size = sizeof(r), .addr = 0x10000000 + (uint64_t)i * 4096, .name = names[i] };

		r.code = i == 1 ? code : other;
		r.code_size = i == 1 ? sizeof(code) : sizeof(other);
		if (opagent_load(agent, &r, NULL) < 0)
			return 1;
	}
	puts(opagent_dir(agent));
	fflush(stdout);
	snprintf(path, sizeof(path), "%s/0.jo", opagent_dir(agent));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	map = fd < 0 ? MAP_FAILED : mmap(NULL, 65536, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return 1;
	at = memmem(map, 65536, code, sizeof(code));
	if (!at)
		return 1;
	for (long n = strtol(argv[2], NULL, 0); n > 0; n--)
		((void (*)(int))(uintptr_t)at)(1000000);
	_exit(0); /* as one that is killed: nothing is said at the end */
}
#else
int main(void)
{
	return 77;
}
#endif
