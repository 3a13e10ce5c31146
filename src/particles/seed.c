#include "particles/seed.h"
#include <math.h>

int seed_per_axis(int dim, int per_cell) {
    int n = 1;
    while ((dim == 3 ? n * n * n : n * n) < per_cell) n++;
    return n;
}

bool seed_lattice(int dim, float spacing, const float offset[3], const float low[3],
                  const float high[3], SeedVisit *visit, void *context) {
    int first[3] = {0}, last[3] = {0};
    for (int a = 0; a < dim; a++) {
        first[a] = (int)ceil(((double)low[a] - offset[a]) / spacing - 0.5 - 1e-6);
        last[a] = (int)floor(((double)high[a] - offset[a]) / spacing - 0.5 + 1e-6);
    }
    SeedBatch batch = {0};
    for (int k = first[2]; k <= last[2]; k++)
        for (int j = first[1]; j <= last[1]; j++)
            for (int i = first[0]; i <= last[0]; i++) {
                int n = batch.count++;
                batch.x[n] = ((float)i + 0.5f) * spacing + offset[0];
                batch.y[n] = ((float)j + 0.5f) * spacing + offset[1];
                batch.z[n] = dim == 3 ? ((float)k + 0.5f) * spacing + offset[2] : 0;
                if (batch.count == SEED_BATCH) {
                    if (!visit(context, &batch)) return false;
                    batch.count = 0;
                }
            }
    return !batch.count || visit(context, &batch);
}
