// Any bytes as a surface that Brim wrote: read it or refuse it with a message. What was accepted is
// no larger than the bytes say, finite, and has no triangle that leads out of it.
#include "io/mesh_read.h"
#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const BrimMesh *m, size_t size) {
    if (m->vertex_count > size / 36 || m->triangle_count > size / 13) abort();
    for (size_t i = 0; i < m->vertex_count; i++)
        for (int a = 0; a < 3; a++)
            if (!isfinite(m->position[i][a]) || !isfinite(m->normal[i][a]) ||
                !isfinite(m->velocity[i][a]))
                abort();
    for (size_t i = 0; i < m->triangle_count; i++)
        for (int k = 0; k < 3; k++)
            if (m->triangle[i][k] >= m->vertex_count) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size) return 0;
    FILE *in = fmemopen((void *)(uintptr_t)data, size, "rb");
    if (!in) return 0;
    BrimMesh mesh;
    BrimError error = {0};
    if (mesh_read(in, size, "fuzz", &mesh, &error) == BRIM_OK)
        check(&mesh, size);
    else if (mesh.position || mesh.triangle || mesh.vertex_count || !*error.message)
        abort();
    brim_mesh_free(&mesh);
    fclose(in);
    return 0;
}
