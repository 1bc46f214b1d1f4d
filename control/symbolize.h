/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_CONTROL_SYMBOLIZE_H
#define OPJIT_CONTROL_SYMBOLIZE_H
/*
 * A filter for other tools' output: addresses of a running process become names. The sources are operf's: rings and images of
 * libopagent, jitdumps, perf maps, OProfile's dump, GDB's JIT interface, and the symbols of the files that the process has mapped.
 */
#include <stdint.h>
#include <stdio.h>

/*
 * Copies in to out line by line. Replaced is what is written as 0x… anywhere, and a number of 8 to 16 hexadecimal digits at the
 * start of a line; without a name it stays as it came. What the process makes meanwhile is looked for again after a second. 0, or
 * -errno after it was said: -ESRCH there is no such process, -EACCES it is not ours to look at.
 */
int symbolize_stream(const char *proc_root, int32_t pid, FILE *in, FILE *out);

#endif
