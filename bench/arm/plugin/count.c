/*
 * A plugin for qemu-user that counts the instructions a program executes, on all
 * its threads, and writes the count as a line to a file:
 *
 *     gcc -shared -fPIC -O2 -o count.so count.c
 *     qemu-arm -plugin ./count.so,out=FILE PROGRAM
 *
 * Not every distribution has qemu-plugin.h, so what is used of it is declared here
 * (QEMU's include/qemu/qemu-plugin.h, version 1 of its interface, QEMU 4.2 on).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t plugin_id;
struct qemu_plugin_tb;

extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, struct qemu_plugin_tb *));
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, void (*)(unsigned, void *), int flags, void *data);
extern void qemu_plugin_register_atexit_cb(plugin_id, void (*)(plugin_id, void *), void *data);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);

EXPORT int qemu_plugin_version = 1;

static uint64_t total;
static char path[4096];

/* A block begins to run; data is how many instructions it has. */
static void executed(unsigned cpu, void *data)
{
	(void)cpu;
	__atomic_fetch_add(&total, (uintptr_t)data, __ATOMIC_RELAXED);
}

/* A block is translated, once for all its runs. */
static void translated(plugin_id id, struct qemu_plugin_tb *block)
{
	(void)id;
	qemu_plugin_register_vcpu_tb_exec_cb(block, executed, 0 /* reads no registers */, (void *)(uintptr_t)qemu_plugin_tb_n_insns(block));
}

static void ended(plugin_id id, void *data)
{
	(void)id;
	(void)data;
	FILE *f = fopen(path, "w");
	if (f == NULL)
		return;
	fprintf(f, "%" PRIu64 "\n", __atomic_load_n(&total, __ATOMIC_RELAXED));
	fclose(f);
}

EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++)
		if (strncmp(argv[i], "out=", 4) == 0)
			snprintf(path, sizeof path, "%s", argv[i] + 4);
	if (path[0] == '\0') {
		fputs("count: give the file for the count as out=FILE\n", stderr);
		return 1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, ended, NULL);
	return 0;
}
