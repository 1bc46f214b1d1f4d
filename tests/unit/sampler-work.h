/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_TESTS_SAMPLER_WORK_H
#define OPJIT_TESTS_SAMPLER_WORK_H
/*
 * The workloads of test-sampler: argv as main() has it, argv[2] says which. Each touches known numbers of fresh pages and
 * prints "TOUCH pid tid pages start end" with the bounds of the code that does so. To be returned from main().
 */
#define CHURN 150 /* threads of "churn" besides the first; every fourth of them makes one more */
int sampler_work(char **argv);

#endif
