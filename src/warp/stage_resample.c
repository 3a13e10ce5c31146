// Particles of a warped mesh by number: those that stand for much more than their share of a cell
// of the mesh are split, those that stand for much less are joined. Volume and momentum stay.
#include "base/hash.h"
#include "base/memory.h"
#include "step/stages.h"
#include "warp/stage.h"
#include <math.h>

/// Of what a particle stands for at birth, |J| / N: from there on it is split; two below are
/// joined.
static const float SPLIT = 2, JOIN = 0.5f;
/// It is not done in each step: in so many a particle passes four cells, which differ by a quarter
/// in their volumes at the most.
enum { STEPS_BETWEEN = 4 };
/// Joined are those no farther apart than this, cells.
static const float NEAR = 0.6f;

/// Particle j goes into i. False: they are too far apart.
static bool join(BrimSim *s, uint32_t i, uint32_t j) {
    Particles *p = &s->particles;
    float far2 = 0, *volume = p->attr[ATTR_VOLUME];
    for (int a = 0; a < s->dim; a++) {
        float off = (p->attr[ATTR_X + a][i] - p->attr[ATTR_X + a][j]) * s->inv_dx;
        far2 += off * off;
    }
    if (far2 > NEAR * NEAR) return false;
    const float part = volume[j] / (volume[i] + volume[j]);
    for (int a = 0; a < 3; a++)
        for (int k = ATTR_X; k <= ATTR_VX; k += ATTR_VX - ATTR_X)
            p->attr[k + a][i] += part * (p->attr[k + a][j] - p->attr[k + a][i]);
    for (int k = ATTR_AFFINE; p->attr[ATTR_AFFINE] && k <= ATTR_END_AFFINE; k++)
        p->attr[k][i] += part * (p->attr[k][j] - p->attr[k][i]);
    volume[i] += volume[j];
    p->key[j] = KEY_HIDDEN;
    warp_key(s, i);
    return true;
}

/// What a tile's particles stand for, of what they would at birth. => spare
static void find_shares(BrimSim *s, int slot) {
    const uint32_t first = tile_first(&s->particles, slot);
    const WarpLattice lattice = warp_lattice(&s->warp->mesh.map);
    const Span span = sim_span(s, slot, WARP_FAR); // they have moved
    float *share = s->particles.spare + first;
    s->warp->kernels->weigh(&span, &lattice, share);
    for (int i = 0; i < span.count; i++) share[i] *= (float)s->def.particles_per_cell;
}

/// Joins; counts those to split.
static void find_tile(BrimSim *s, int slot, int thread, void *context) {
    uint32_t *count = (uint32_t *)context + slot;
    Particles *p = &s->particles;
    const Grid *g = &s->grid;
    const uint32_t first = tile_first(p, slot), end = tile_end(p, slot);
    float *share = p->spare;
    *count = 0;
    if (first == end) return;
    find_shares(s, slot);
    for (uint32_t i = first; i < end; i++) *count += p->key[i] < KEY_GONE && share[i] > SPLIT;
    const uint32_t *start = cell_starts(p, g, slot);
    for (int c = 0; c < g->tile_cells; c++)
        for (uint32_t i = start[c]; i < start[c + 1]; i++)
            for (uint32_t j = i + 1; j < start[c + 1]; j++) {
                if (!(share[i] < JOIN) || p->key[i] >= KEY_GONE) break;
                if (share[j] < JOIN && p->key[j] < KEY_GONE && join(s, i, j)) share[i] = 1;
            }
}

/// A direction by chance, of length 1.
static void direction(const BrimSim *s, uint32_t id, float out[3]) {
    const uint64_t h = hash_3(s->def.seed, id, (uint64_t)s->step);
    const double turn = 6.283185307179586 * (double)hash_unit(h, 0);
    const double z = s->dim == 3 ? 2 * (double)hash_unit(h, 1) - 1 : 0, flat = sqrt(1 - z * z);
    out[0] = (float)(flat * cos(turn)), out[1] = (float)(flat * sin(turn)), out[2] = (float)z;
}

/// Particle i becomes two, on either side of where it was; the second at place `new`.
static void split(BrimSim *s, uint32_t i, uint32_t new, uint32_t id) {
    Particles *p = &s->particles;
    float way[3], *volume = p->attr[ATTR_VOLUME];
    double xi[3], J[3][3];
    warp_particle(s, i, xi);
    map_jacobian(&s->warp->mesh.map, xi, J);
    // a quarter of the side of what it stands for
    const double size = pow((double)volume[i] / matrix_determinant(J), 1.0 / s->dim);
    direction(s, particle_words(p, ATTR_ID)[i], way);
    volume[i] *= 0.5f, volume[new] = volume[i];
    for (int a = 0; a < 3; a++) {
        const double off = 0.25 * size * (double)way[a], end = s->grid.cells[a] - (double)WARP_SIDE;
        const double low = fmin(fmax(xi[a] - off, (double)WARP_SIDE), end);
        const double high = fmin(fmax(xi[a] + off, (double)WARP_SIDE), end);
        p->attr[ATTR_X + a][i] = a < s->dim ? (float)(low * (double)s->dx) : 0;
        p->attr[ATTR_X + a][new] = a < s->dim ? (float)(high * (double)s->dx) : 0;
        p->attr[ATTR_VX + a][new] = p->attr[ATTR_VX + a][i];
    }
    for (int k = ATTR_AFFINE; p->attr[ATTR_AFFINE] && k <= ATTR_END_AFFINE; k++)
        p->attr[k][new] = p->attr[k][i];
    for (int a = 0; p->attr[ATTR_AFFINE] && a < s->dim; a++) // dx = J^T dxi
        for (int b = 0; b < s->dim; b++) {
            double off = 0;
            for (int k = 0; k < s->dim; k++) off += 0.25 * size * (double)way[k] * J[k][b];
            const float change = p->attr[ATTR_AFFINE + 3 * a + b][i] * (float)off;
            p->attr[ATTR_VX + a][i] -= change, p->attr[ATTR_VX + a][new] += change;
        }
    particle_words(p, ATTR_ID)[new] = id;
    particle_inherit(p, new, i);
    warp_key(s, i), warp_key(s, new);
}

/// Where a tile's new particles begin.
typedef struct New {
    const uint32_t *place;
    uint32_t first, id;
} New;

static void split_tile(BrimSim *s, int slot, int thread, void *context) {
    const New *n = context;
    const Particles *p = &s->particles;
    uint32_t at = n->place[slot];
    if (n->place[slot + 1] == at) return;
    find_shares(s, slot); // room for more particles cleared them
    for (uint32_t i = tile_first(p, slot); i < tile_end(p, slot); i++)
        if (p->key[i] < KEY_GONE && p->spare[i] > SPLIT) {
            split(s, i, n->first + at, n->id + at);
            at++;
        }
}

/// What particles that go stand for; those that a band swallows stay. context: [tiles]
static void sum_gone(BrimSim *s, int slot, int thread, void *context) {
    const Particles *p = &s->particles;
    double sum = 0;
    for (uint32_t i = tile_first(p, slot); i < tile_end(p, slot); i++)
        if (p->key[i] >= KEY_GONE && p->key[i] != KEY_HIDDEN) sum += warp_volume(s, i);
    ((double *)context)[slot] = sum;
}

/// The liquid that there ought to be changes by what comes and goes. => start_volume. False: out of
/// memory.
static bool book(BrimSim *s) {
    WarpState *w = s->warp;
    bool open = false;
    for (int n = 0; n < 2 * s->dim; n++) open |= s->sides.open[n];
    for (size_t i = s->particles.sorted; i < s->particles.count; i++)
        s->start_volume += warp_volume(s, i);
    if (!open && !s->drain_count) return true;
    if (!memory_fit((void **)&w->gone, &w->gone_capacity, sizeof *w->gone,
                    (size_t)s->grid.tile_count))
        return false;
    tiles_for(s, sum_gone, w->gone);
    for (int t = 0; t < s->grid.tile_count; t++) s->start_volume -= w->gone[t];
    return true;
}

BrimResult warp_sort_again(BrimSim *s, BrimError *error) {
    if (!book(s)) return step_out_of_memory(s, "density", error);
    return stage_sort(s, error);
}

BrimResult warp_resample(BrimSim *s, BrimError *error) {
    WarpState *w = s->warp;
    Particles *p = &s->particles;
    const int tiles = s->grid.tile_count;
    if (!book(s)) return step_out_of_memory(s, "resample", error);
    // shares change slowly, with the mesh
    if (w->mesh.strength == 0 || s->step % STEPS_BETWEEN != 0) return BRIM_OK;
    if (!memory_fit((void **)&w->splits, &w->splits_capacity, sizeof *w->splits, (size_t)tiles + 1))
        return step_out_of_memory(s, "resample", error);
    tiles_for(s, find_tile, w->splits);
    size_t sum = 0;
    for (int t = 0; t < tiles; t++) {
        const uint32_t count = w->splits[t];
        w->splits[t] = (uint32_t)sum, sum += count;
    }
    w->splits[tiles] = (uint32_t)sum;
    const size_t first = p->count;
    if (sum == 0) return BRIM_OK;
    if (first + sum > UINT32_MAX - 16 || !particles_reserve(p, first + sum))
        return step_out_of_memory(s, "resample", error);
    p->count += sum;
    tiles_for(s, split_tile, &(New){w->splits, (uint32_t)first, s->next_id});
    s->next_id += (uint32_t)sum;
    s->band.resampled += (int64_t)sum;
    return BRIM_OK;
}
