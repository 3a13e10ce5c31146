#include "io/run_json.h"
#include "base/error.h"
#include "base/utf8.h"
#include "io/file.h"
#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/// A JSON string, quotes included.
static void print_text(FileWriter *w, const char *text) {
    file_write(w, "\"", 1);
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        int n = utf8_length(p);
        if (n == 0)
            file_print(w, "\\ufffd");
        else if (*p == '"' || *p == '\\')
            file_print(w, "\\%c", *p);
        else if (*p < 0x20)
            file_print(w, "\\u%04x", *p);
        else
            file_write(w, p, (size_t)n);
        p += n ? n : 1;
    }
    file_write(w, "\"", 1);
}

/// The processor's name as Linux tells it, else what it is called by uname.
static void cpu_name(char name[256], const char *otherwise) {
    snprintf(name, 256, "%s", otherwise);
    FILE *in = fopen("/proc/cpuinfo", "re");
    if (!in) return;
    char line[512];
    while (fgets(line, sizeof line, in)) {
        if (sscanf(line, "model name : %255[^\n]", name) == 1) break;
    }
    fclose(in);
}

static void print_machine(FileWriter *w) {
    struct utsname os;
    if (uname(&os) != 0) os = (struct utsname){.sysname = "unknown"};
    char cpu[256], system[3 * sizeof os.sysname];
    cpu_name(cpu, os.machine);
    snprintf(system, sizeof system, "%s %s %s", os.sysname, os.release, os.machine);
    file_print(w, "{\"cpu\": ");
    print_text(w, cpu);
    file_print(w,
               ", \"cores\": %ld, \"memory_bytes\": %lld, \"os\": ", sysconf(_SC_NPROCESSORS_ONLN),
               (long long)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
    print_text(w, system);
    file_print(w, "}");
}

BrimResult run_json_write(const char *path, const BrimScene *scene, const BrimSim *sim,
                          uint64_t scene_hash, BrimError *error) {
    FileWriter *w;
    BrimResult result = file_create(path, &w, error);
    if (result != BRIM_OK) return result;
    // run_json_hash finds the hash in the first line.
    file_print(w, "{\"brim\": \"%s\", \"scene_hash\": \"%016" PRIx64 "\",\n", BRIM_VERSION_STRING,
               scene_hash);
    file_print(w, " \"threads\": %d, \"seed\": %u, \"isa\": ", brim_sim_threads(sim),
               brim_scene_def(scene)->seed);
    print_text(w, brim_sim_isa_name(sim));
    file_print(w, ",\n \"machine\": ");
    print_machine(w);
    file_print(w, ",\n \"scene\": %s\n}\n", brim_scene_json(scene));
    return file_commit(&w, error);
}

BrimResult run_json_hash(const char *path, uint64_t *scene_hash, BrimError *error) {
    uint64_t bytes;
    FILE *in;
    BrimResult result = file_open(path, &in, &bytes, error);
    if (result != BRIM_OK) return result;
    char line[256];
    bool found =
        fgets(line, sizeof line, in) &&
        sscanf(line, "{\"brim\": \"%*31[^\"]\", \"scene_hash\": \"%16" SCNx64, scene_hash) == 1;
    fclose(in);
    if (found) return BRIM_OK;
    return fail(error, BRIM_ERROR_INPUT,
                "'%s' was not written by Brim, so there is no run to resume: choose another folder",
                path);
}
