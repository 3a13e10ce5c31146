// Any bytes as a PLY frame: read it or refuse it, and touch all that was read.
#include "io/ply.h"
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size) return 0;
    FILE *in = fmemopen((void *)(uintptr_t)data, size, "rb");
    if (!in) return 0;
    BrimFrame frame;
    PlyNotes notes;
    BrimError error;
    if (ply_read(in, size, "fuzz", &frame, &notes, &error) == BRIM_OK) {
        volatile float sum = 0;
        for (size_t i = 0; i < frame.count; i++)
            sum = frame.x[i] + frame.y[i] + frame.z[i] + frame.vx[i] + frame.vy[i] + frame.vz[i] +
                  (float)frame.id[i];
        for (size_t i = 0; i < frame.interior_count; i++)
            sum = frame.interior[i].position[0] + frame.interior[i].velocity[2];
        (void)sum;
    }
    brim_frame_free(&frame);
    fclose(in);
    return 0;
}
