// Kernels of the surface that particles carry along against plain twins.
#include "base/hash.h"
#include "cases_track.h"
#include "particles/normal.h"
#include "surface/track_tiles.h"
#include "test.h"

// ------------------------------------------------------------------------------ a plain twin

/// Mean position of all particles near a point, from there, as the rough surface has it.
static void plain_mean(const BrimSim *s, const double at[3], double mean[3]) {
    const Particles *p = &s->particles;
    double weight = 0;
    mean[0] = mean[1] = mean[2] = 0;
    for (size_t i = 0; i < p->count; i++) {
        double d[3] = {0}, d2 = 0;
        for (int a = 0; a < s->dim; a++) {
            d[a] = (double)p->attr[ATTR_X + a][i] * (double)s->inv_dx - at[a];
            d2 += d[a] * d[a];
        }
        double w = d2 < 2.25 ? pow(1 - d2 / 2.25, 3) : 0;
        weight += w;
        for (int a = 0; a < s->dim; a++) mean[a] += w * d[a];
    }
    for (int a = 0; a < 3; a++) mean[a] /= weight > 0 ? weight : 1;
}

/// What the particles of one cell say about a point: how many have a normal, and over these the
/// means of squared distance, normal and offset, and of what half of their plane says there.
typedef struct PlainCell {
    double count, square, half, normal[3], offset[3];
} PlainCell;

static PlainCell plain_cell(const BrimSim *s, int64_t cell, const double at[3]) {
    const Particles *p = &s->particles;
    PlainCell c = {0};
    const uint32_t *start = cell_starts_from(p, &s->grid, cell);
    for (size_t i = start[0]; i < start[1]; i++) {
        uint32_t word = particle_words(p, ATTR_NORMAL)[i];
        double phi = (double)p->attr[ATTR_PHI][i];
        float n[3];
        if (!word || phi <= -(double)TRACK_DEPTH) continue;
        normal_unpack(word, s->dim, n);
        c.count++, c.half += fmin(phi, (double)TRACK_ABOVE);
        for (int a = 0; a < s->dim; a++) {
            double d = (double)p->attr[ATTR_X + a][i] * (double)s->inv_dx - at[a];
            c.square += d * d, c.normal[a] += (double)n[a], c.offset[a] += d;
            c.half -= 0.5 * d * (double)n[a];
        }
    }
    double share = 1 / fmax(c.count, 1);
    c.square *= share, c.half *= share;
    for (int a = 0; a < 3; a++) c.normal[a] *= share, c.offset[a] *= share;
    return c;
}

/// Distance by planes at the middle of a cell, one cell around it after the other, as numerics.md
/// has it; no walls. NAN where none tells.
static double plain_planes(const BrimSim *s, const double at[3]) {
    double mean[3], length = 0, planes = 0, sum = 0, normal[3] = {0}, offset[3] = {0}, bent = 0;
    plain_mean(s, at, mean);
    for (int a = 0; a < 3; a++) length = hypot(length, mean[a]);
    double beta = fmin(1, length / 0.15);
    for (int n = 0; n < (s->dim == 3 ? 27 : 9); n++) {
        int64_t cell = grid_cell(&s->grid, (int)at[0] + n % 3 - 1, (int)at[1] + n / 3 % 3 - 1,
                                 s->dim == 3 ? (int)at[2] + n / 9 - 1 : 0);
        if (cell < 0) continue;
        PlainCell c = plain_cell(s, cell, at);
        double q = c.square / 2.5, facing = 1 - beta;
        if (c.count == 0 || q >= 1) continue;
        for (int a = 0; a < s->dim && length > 0; a++)
            facing -= beta * mean[a] / length * c.normal[a];
        double w = pow(1 - q, 2) / (0.1 + q) * c.count * fmax(0, facing);
        planes += w, sum += w * c.half;
        for (int a = 0; a < 3; a++) normal[a] += w * c.normal[a], offset[a] += w * c.offset[a];
    }
    for (int a = 0; a < 3; a++) bent += normal[a] * offset[a];
    return planes > 1e-2 ? (sum - 0.5 * bent / planes) / planes : NAN;
}

TEST(track_planes_match_the_plain_twin) {
    BrimError error;
    for (int dim = 2; dim <= 3; dim++)
        for (int isa = BRIM_ISA_AUTO; isa <= BRIM_ISA_AVX512; isa++) {
            Case c = case_cells(dim, 20, 20, 20, FOREVER);
            c.def.isa = (BrimIsa)isa;
            case_liquid(&c, ball((BrimVec3){10, 10, dim == 3 ? 10 : 0}, 5.5f));
            BrimSim *s;
            CHECK_OK(case_create(&c, &s, &error), error);
            // anything but a distance, so that every weight shows
            for (size_t i = 0; i < s->particles.count; i++)
                s->particles.attr[ATTR_PHI][i] = -4 * hash_unit(hash_3(3, i, 0), 0) + 0.5f;
            double *twin = malloc(sim_cells(s) * sizeof *twin);
            for (size_t i = 0; i < sim_cells(s); i++) {
                double at[3];
                face_point(s, (int64_t)i, 3, at);
                double apart =
                    hypot(hypot(at[0] - 10, at[1] - 10), dim == 3 ? at[2] - 10 : 0) - 5.5;
                twin[i] = fabs(apart) < 2 ? plain_planes(s, at) : NAN;
            }
            track_surface(s, 0);
            int count = 0;
            double most = 0;
            for (size_t i = 0; i < sim_cells(s); i++) {
                // farther out particles learn a distance that is not that of the grid
                if (!(s->asked[i / TILE] >> i % TILE & 1) || s->steady[i] < 0) continue;
                if (isnan(twin[i]) || fabsf(s->rough[i]) > 0.7f) continue;
                double smooth = (double)s->tracked[i] - (double)s->smooth[i];
                most = fmax(most, fabs(smooth - twin[i])), count++;
            }
            free(twin);
            CHECK(count > (dim == 3 ? 400 : 40));
            CHECK_BELOW(most, 1e-4);
            brim_sim_destroy(&s);
        }
}

// ------------------------------------------------------------------- kernels of rows and tiles

enum { KERNEL_PARTICLES = 700, KERNEL_ROOM = KERNEL_PARTICLES + PARTICLE_PADDING };

static float any(uint64_t what, size_t i, float low, float high) {
    return low + (high - low) * hash_unit(hash_3(11, i, what), 0);
}

/// A tile's particles in the order of its cells, some without a normal.
typedef struct Tile {
    float attr[ATTR_MAX][KERNEL_ROOM];
    uint32_t start[TILE * TILE * TILE + 1];
    int cell[KERNEL_PARTICLES];
    Span span;
} Tile;

static void tile_fill(Tile *t, int dim) {
    int cells = dim == 3 ? TILE * TILE * TILE : TILE * TILE;
    memset(t, 0, sizeof *t);
    t->span = (Span){.count = KERNEL_PARTICLES, .dx = 0.5f, .inv_dx = 2, .dim = dim};
    for (int a = 0; a < ATTR_MAX; a++) t->span.attr[a] = t->attr[a];
    for (int a = 0; a < 3; a++) t->span.corner[a] = 15; // of a block with halo 1
    for (int i = 0; i < KERNEL_PARTICLES; i++) {
        int cell = t->cell[i] = (int)((int64_t)i * cells / KERNEL_PARTICLES);
        for (int c = cell + 1; c <= cells; c++) t->start[c] = (uint32_t)i + 1;
        float n[3] = {0}, length = 0;
        for (int a = 0; a < dim; a++) {
            float local = (float)(cell >> (3 * a) & 7) + any((uint64_t)a, (size_t)i, 0.01f, 0.99f);
            t->attr[ATTR_X + a][i] = 0.5f * (16 + local);
            t->attr[ATTR_VX + a][i] = any(3 + (uint64_t)a, (size_t)i, -1, 1);
            n[a] = any(6 + (uint64_t)a, (size_t)i, -1, 1), length += n[a] * n[a];
        }
        for (int a = 0; a < dim; a++) n[a] /= sqrtf(length);
        t->attr[ATTR_PHI][i] = any(9, (size_t)i, -3, 0.5f);
        uint32_t word = i % 5 == 0 ? 0 : normal_pack(n, any(10, (size_t)i, 0, 1));
        memcpy(&t->attr[ATTR_NORMAL][i], &word, sizeof word);
    }
}
static uint32_t tile_word(const Tile *t, int i) {
    uint32_t word;
    memcpy(&word, &t->attr[ATTR_NORMAL][i], sizeof word);
    return word;
}
/// How far two directions are apart; what packing allows.
static double words_apart(uint32_t a, uint32_t b, int dim) {
    float m[3], n[3];
    double most = 0;
    if ((a == 0) != (b == 0)) return 9;
    if (a == 0) return 0;
    normal_unpack(a, dim, m), normal_unpack(b, dim, n);
    for (int k = 0; k < 3; k++) most = fmax(most, (double)fabsf(m[k] - n[k]));
    return most;
}
static const double PACKED = 1.2e-3; // two steps of a packed direction

TEST(track_unpacks_as_the_plain_twin) {
    static Tile t, done;
    static float normal[3][KERNEL_ROOM];
    float *const out[3] = {normal[0], normal[1], normal[2]};
    for (int dim = 2; dim <= 3; dim++)
        for (int isa = BRIM_ISA_BASE; isa <= BRIM_ISA_AVX512; isa++)
            for (int square = 0; square < 2; square++) {
                const TrackKernels *k = track_kernels_for(isa_choose((BrimIsa)isa));
                TrackFade fade = {1.2f, 1 / 0.8f, square};
                tile_fill(&t, dim), tile_fill(&done, dim);
                float fastest = k->unpack(&done.span, &fade, out), most = -1;
                for (int i = 0; i < KERNEL_PARTICLES; i++) {
                    float speed2 = 0, n[3];
                    for (int a = 0; a < dim; a++)
                        speed2 += t.attr[ATTR_VX + a][i] * t.attr[ATTR_VX + a][i];
                    float fast = (1.2f - (square ? speed2 : sqrtf(speed2))) / 0.8f;
                    float steady = fminf(fmaxf(fast, 0), 1) * normal_part(tile_word(&t, i));
                    if (!tile_word(&t, i)) steady = -1;
                    if (steady > 0) most = fmaxf(most, sqrtf(speed2));
                    CHECK_NEAR(done.attr[ATTR_NORMAL][i], steady, 1e-6);
                    if (steady < 0) continue;
                    normal_unpack(tile_word(&t, i), dim, n);
                    for (int a = 0; a < dim; a++) CHECK(normal[a][i] == n[a]);
                }
                CHECK_NEAR(fastest, most, 1e-6);
            }
}

TEST(track_strain_matches_the_plain_twin) {
    enum { HALO = 2, EDGE = TILE + 2 * HALO };
    static float block[3][EDGE * EDGE * EDGE];
    static Tile t, done;
    const float *const velocity[3] = {block[0], block[1], block[2]};
    for (size_t i = 0; i < EDGE * EDGE * EDGE; i++)
        for (int a = 0; a < 3; a++)
            block[a][i] = i % 97 == 0 ? NAN : any(20 + (uint64_t)a, i, -1, 1);
    for (int dim = 2; dim <= 3; dim++)
        for (int isa = BRIM_ISA_BASE; isa <= BRIM_ISA_AVX512; isa++) {
            const float rate = 0.1f; // time / dx
            tile_fill(&t, dim), tile_fill(&done, dim);
            done.span.corner[0] = done.span.corner[1] = done.span.corner[2] = 16 - HALO;
            track_kernels_for(isa_choose((BrimIsa)isa))
                ->strain(&done.span, done.start, velocity, HALO, rate / t.span.inv_dx);
            for (int i = 0; i < KERNEL_PARTICLES; i++) {
                uint32_t word = tile_word(&t, i);
                float n[3] = {0}, e = 0, turned[3] = {0};
                const int step[3] = {1, EDGE, EDGE * EDGE}, c = t.cell[i];
                int at = (c & 7) + HALO + ((c >> 3 & 7) + HALO) * EDGE;
                if (dim == 3) at += ((c >> 6) + HALO) * EDGE * EDGE;
                if (word) normal_unpack(word, dim, n);
                for (int a = 0; a < dim; a++)
                    for (int b = 0; b < dim; b++) {
                        const float *u = block[a] + at;
                        float g = u[step[a]] - u[0];
                        if (a != b)
                            g = 0.25f * (u[step[b]] - u[-step[b]] + u[step[a] + step[b]] -
                                         u[step[a] - step[b]]);
                        turned[b] += isnan(g) ? 0 : rate * g * n[a];
                    }
                for (int b = 0; b < dim; b++) e += turned[b] * n[b];
                for (int b = 0; b < dim; b++) n[b] += e * n[b] - turned[b];
                float length = sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
                for (int b = 0; b < 3 && word; b++) n[b] /= length;
                float phi = t.attr[ATTR_PHI][i] * (1 + fminf(fmaxf(e, -0.5f), 0.5f));
                CHECK_NEAR(done.attr[ATTR_PHI][i], phi, 1e-5);
                uint32_t wanted = word ? (normal_pack(n, 0) & ~63u) | (word & 63) : 0;
                CHECK_BELOW(words_apart(tile_word(&done, i), wanted, dim), PACKED);
                CHECK((tile_word(&done, i) & 63) == (word & 63));
            }
        }
}

TEST(track_renews_as_the_plain_twin) {
    enum { EDGE = TILE + 2 };
    static TrackNode nodes[EDGE * EDGE * EDGE];
    static Tile t, done;
    uint8_t near[TILE];
    memset(near, 0xfe, sizeof near); // all but the first row of each slice
    for (size_t i = 0; i < EDGE * EDGE * EDGE; i++)
        nodes[i] = (TrackNode){any(30, i, -4, 1),
                               any(31, i, -0.2f, 0.2f),
                               {any(32, i, -1, 1), any(33, i, -1, 1), any(34, i, -1, 1)},
                               any(36, i, -1, 1),
                               {0}};
    for (int dim = 2; dim <= 3; dim++)
        for (int isa = BRIM_ISA_BASE; isa <= BRIM_ISA_AVX512; isa++) {
            tile_fill(&t, dim);
            for (int i = 0; i < KERNEL_PARTICLES; i++)
                t.attr[ATTR_NORMAL][i] = i % 3 ? any(35, (size_t)i, 0, 1) : -1;
            done = t;
            for (int a = 0; a < ATTR_MAX; a++) done.span.attr[a] = done.attr[a];
            track_kernels_for(isa_choose((BrimIsa)isa))
                ->renew(&done.span, done.start, nodes, near, 0.05f);
            for (int i = 0; i < KERNEL_PARTICLES; i++) {
                double told[6] = {0}, f[3] = {0}, at[3] = {0};
                int cell[3] = {0};
                for (int a = 0; a < dim; a++) {
                    at[a] = 2.0 * (double)t.attr[ATTR_X + a][i] - 15.5;
                    cell[a] = (int)at[a], f[a] = at[a] - cell[a];
                }
                for (int n = 0; n < (dim == 3 ? 8 : 4); n++) {
                    double w = 1;
                    int node = 0, step[3] = {1, EDGE, EDGE * EDGE};
                    for (int a = 0; a < dim; a++) {
                        w *= n >> a & 1 ? f[a] : 1 - f[a];
                        node += (cell[a] + (n >> a & 1)) * step[a];
                    }
                    const float *tells = &nodes[node].distance;
                    for (int k = 0; k < 6; k++)
                        told[k] += k == 4 && dim == 2 ? 0 : w * (double)tells[k];
                }
                double had = fmin((double)t.attr[ATTR_PHI][i], (double)TRACK_ABOVE),
                       q = told[0] - 0.5 * told[5];
                for (int a = 0; a < dim; a++) q += 0.5 * told[2 + a] * at[a];
                double phi = q;
                double way = 0;
                for (int a = 0; a < dim; a++)
                    way = hypot(way, 0.05 * 2 * (double)t.attr[ATTR_VX + a][i]);
                double part = fmin(way, 0.1);
                if (t.attr[ATTR_NORMAL][i] >= 0 && fabs(q) < 1)
                    phi = (1 - part) * (had + told[1]) + part * q;
                double slope = sqrt(told[2] * told[2] + told[3] * told[3] + told[4] * told[4]);
                float n[3], g = (float)fmin(fmax((slope - 0.6) / 0.3, 0), 1);
                for (int a = 0; a < 3; a++) n[a] = (float)(told[2 + a] / slope);
                uint32_t word = q > -(double)TRACK_DEPTH ? normal_pack(n, g) : 0;
                bool skipped = (t.cell[i] >> 3 & 7) == 0;
                if (skipped) phi = -(double)TRACK_FAR, word = 0;
                CHECK_NEAR(done.attr[ATTR_PHI][i], phi, 2e-5);
                if (!skipped && fabs(q + (double)TRACK_DEPTH) < 1e-4) continue; // either way
                CHECK_BELOW(words_apart(tile_word(&done, i), word, dim), PACKED);
                CHECK(abs((int)(tile_word(&done, i) & 63) - (int)(word & 63)) <= 1);
            }
        }
}

/// The distance that |grad d| = 1 gives from the nearer neighbour along each axis, by trying.
static double plain_eikonal(const double nearer[3], int dim) {
    double low = 0, high = 1e3;
    for (int i = 0; i < 100; i++) {
        double d = 0.5 * (low + high), sum = 0;
        for (int a = 0; a < dim; a++) sum += pow(fmax(0, d - nearer[a]), 2);
        sum < 1 ? (low = d) : (high = d);
    }
    return low;
}

/// Stands for what is not told; the cut of the filter.
static const float MISSING = 2;

/// A block of halo 1 as the tile in its middle and those beside it. At x- and y+ the domain ends;
/// of some rows nothing is told. Changes the block to what is to be seen then.
static TrackAround around_block(float *block, int dim, float tile[7][TILE * TILE * TILE],
                                uint8_t told[7][TILE * TILE]) {
    enum { EDGE = TILE + 2 };
    const int z_step = dim == 3 ? EDGE * EDGE : 0;
    TrackAround out = {.first = {0, -1, -1}, .last = {TILE, TILE - 1, TILE}};
    for (int n = 0; n < 7; n++) {
        int way[3] = {0}, rows = dim == 3 ? TILE * TILE : TILE;
        if (n > 0) way[(n - 1) / 2] = n & 1 ? -TILE : TILE;
        for (int r = 0; r < rows; r++) {
            int y = (r & 7) + way[1], z = (r >> 3) + way[2], at_x = 0;
            bool inside = y >= -1 && y <= TILE && z >= (dim == 3 ? -1 : 0) && z <= TILE;
            told[n][r] = (uint8_t)(r % 7 != 2 || n > 2);
            for (int x = way[0]; x < way[0] + TILE && inside; x++, at_x++) {
                if (x < -1 || x > TILE) continue;
                float *at = block + (z + (dim == 3)) * z_step + (y + 1) * EDGE + x + 1;
                tile[n][r * TILE + at_x] = *at;
                if (!told[n][r]) *at = MISSING;
            }
        }
        out.tile[n] = tile[n], out.told[n] = told[n];
    }
    for (int z = 0; z < (dim == 3 ? EDGE : 1); z++) {
        float *layer = block + z * z_step;
        for (int y = 0; y < EDGE; y++) layer[y * EDGE] = layer[y * EDGE + 1];
        for (int x = 0; x < EDGE; x++) layer[(TILE + 1) * EDGE + x] = layer[TILE * EDGE + x];
    }
    return out;
}

TEST(track_rows_match_the_plain_twins) {
    enum { EDGE = TILE + 2, CELLS = TILE * TILE * TILE };
    static float block[EDGE * EDGE * EDGE], far[CELLS], even[CELLS], tile[7][CELLS];
    static float beyond[2][CELLS];
    static uint8_t told[7][TILE * TILE];
    const int step[3] = {1, EDGE, EDGE * EDGE};
    for (int dim = 2; dim <= 3; dim++)
        for (int isa = BRIM_ISA_BASE; isa <= BRIM_ISA_AVX512; isa++) {
            const TrackKernels *k = track_kernels_for(isa_choose((BrimIsa)isa));
            for (size_t i = 0; i < EDGE * EDGE * EDGE; i++) block[i] = any(40, i, 0, 2.4f);
            TileMask wanted = {{0}};
            for (int c = 0; c < (dim == 3 ? CELLS : TILE * TILE); c++)
                if (c % 3 && (c >> 3) % 5) wanted.slice[c >> 6] |= (uint64_t)1 << (c & 63);
            for (int c = 0; c < CELLS; c++) far[c] = even[c] = 7;
            TrackAround around = around_block(block, dim, tile, told);
            k->farther(&around, dim, &wanted, MISSING, far);
            k->filter(&around, dim, &wanted, 0.1f, MISSING, even);
            for (int c = 0; c < (dim == 3 ? CELLS : TILE * TILE); c++) {
                int at = (dim == 3 ? (c >> 6) + 1 : 0) * EDGE * EDGE + ((c >> 3 & 7) + 1) * EDGE +
                         (c & 7) + 1;
                double nearer[3], here = (double)block[at], sum = 0;
                for (int a = 0; a < dim; a++) {
                    double l = (double)block[at - step[a]], h = (double)block[at + step[a]];
                    nearer[a] = fmin(l, h);
                    if (l < (double)MISSING && h < (double)MISSING) sum += l + h - 2 * here;
                }
                bool row = mask_bits(&wanted, c >> 3) != 0, cell = mask_has(&wanted, c);
                double d = cell ? fmin(here, plain_eikonal(nearer, dim)) : row ? here : 7;
                CHECK_NEAR(far[c], d, 1e-5);
                CHECK_NEAR(even[c], cell ? here + 0.1 * sum : row ? here : 7, 1e-5);
            }
            // a tile that begins where the domain ends has no last cell
            memcpy(beyond[0], far, sizeof far), memcpy(beyond[1], even, sizeof even);
            around.last[0] = -1;
            k->farther(&around, dim, &wanted, MISSING, beyond[0]);
            k->filter(&around, dim, &wanted, 0.1f, MISSING, beyond[1]);
            CHECK(memcmp(beyond[0], far, sizeof far) == 0);
            CHECK(memcmp(beyond[1], even, sizeof even) == 0);
        }
}

TEST(track_blends_as_the_plain_twin) {
    enum { ROWS = 200 };
    for (int isa = BRIM_ISA_BASE; isa <= BRIM_ISA_AVX512; isa++)
        for (uint64_t i = 0; i < ROWS; i++) {
            const TrackBlend blend = {
                .fades = 0.4f, .way = 0.7f, .chance = 0.05f, .forgets = i % 5 == 0};
            const uint8_t asked = (uint8_t)hash_3(50, i, 0), kept = (uint8_t)hash_3(51, i, 0);
            float rough[TILE], even[TILE], steady[TILE], smooth[TILE], past[TILE], tracked[TILE];
            for (size_t x = 0; x < TILE; x++) {
                rough[x] = any(52, 8 * i + x, -1, 1);
                even[x] = rough[x] + any(53, 8 * i + x, -0.2f, 0.2f);
                past[x] = smooth[x] = rough[x] + any(54, 8 * i + x, -0.7f, 0.7f);
                steady[x] = (i + x) % 7 == 0 ? -1 : fmaxf(any(55, 8 * i + x, -0.2f, 1), 0);
            }
            track_kernels_for(isa_choose((BrimIsa)isa))
                ->blend(&blend, asked, kept, rough, even, steady, smooth, tracked);
            for (int x = 0; x < TILE; x++) {
                double to = (double)rough[x], part = (double)steady[x], was = (double)past[x];
                bool told = asked >> x & 1 && part >= 0;
                if (kept >> x & 1) to += part * ((double)even[x] - to);
                double apart = fabs(to - was), lambda = blend.forgets ? 1 : 1 - part;
                if (!blend.forgets && fabsf(rough[x]) < TRACK_BOUND) {
                    lambda += part * 0.4 * fmin(fmax((apart - 0.05) / 0.05, 0), 1);
                    lambda = fmax(lambda, 0.7 * fmin(fmax((apart - 0.3) / 0.3, 0), 1));
                }
                double wanted = told && part > 0 ? was + lambda * (to - was) : (double)rough[x];
                CHECK_NEAR(tracked[x], wanted, 1e-6);
                CHECK_NEAR(smooth[x], told ? wanted - was : 0, 1e-6);
            }
        }
}

TEST(track_normals_pack) {
    double most = 0;
    for (int i = 0; i < 2000; i++) {
        float v[3], n[3], length = 0;
        int dim = 2 + (i & 1);
        for (int a = 0; a < 3; a++) {
            v[a] = a < dim ? 2 * hash_unit(hash_3(7, (uint64_t)i, (uint64_t)a), 0) - 1 : 0;
            length += v[a] * v[a];
        }
        float g = (float)(i % (NORMAL_PARTS + 1)) / NORMAL_PARTS;
        for (int a = 0; a < 3; a++) v[a] /= sqrtf(length);
        uint32_t word = normal_pack(v, g);
        normal_unpack(word, dim, n);
        CHECK(word != 0 && fabsf(normal_part(word) - g) < 1e-6f);
        for (int a = 0; a < 3; a++) most = fmax(most, (double)fabsf(n[a] - v[a]));
    }
    CHECK_BELOW(most, 5e-4);
    for (int k = 0; k < 6; k++) { // axes are exact
        float v[3] = {0}, n[3];
        v[k >> 1] = k & 1 ? 1 : -1;
        normal_unpack(normal_pack(v, 1), 3, n);
        CHECK(n[0] == v[0] && n[1] == v[1] && n[2] == v[2]);
    }
}
