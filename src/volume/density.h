// The parts of the density projection, stage 6.
#pragma once
#include "bodies/immersed.h"
#include "step/stages.h"

/// Whether cells may be rigid: below a band, or in immersed bodies.
static inline bool has_rigid(const BrimSim *s) {
    return has_band(s) || bodies_immersed(s);
}

/// Displacements take no particle into a solid, but for rounding: so deep, cells, it is not inside.
#define SHIFT_DEPTH 1e-3f

/// Cells over which a particle's weight passes from a cell to the next: as few as particles a
/// spacing apart allow, for the density to see crowds and gaps within a cell's length. With fewer a
/// row of them that comes into a cell counts all at once, and the projection holds rows to the grid
/// that a wave would lift.
float density_ramp(const BrimSimDef *def);

/// (x) => density: weights of particles in cells; what a particle gives beyond a
/// wall of the domain is mirrored back, what solids take of a cell's kernel counts as full. False
/// when out of memory. => density [cells]
bool density_measure(BrimSim *s, float *density);

/// Cells that take part: those with a particle, holes in the midst of them, slivers beside solids
/// that no particle fits in; not beside open sides. (occupied, solid_volume) => wet [rows]; full,
/// below
void density_wet(BrimSim *s, uint8_t *wet);

/// Density errors of a tile's wet cells: density - 1, beside air and in gaps under walls not below
/// 0, so that the surface does not pull itself together, or up. => error [tile_cells], what is to
/// be corrected; 0 in other cells, and for small ones at the lower edge of a band
DensityErrors density_errors(const BrimSim *s, const float *density, const uint8_t *wet, int slot,
                             float *error);

/// How much liquid has no room, in cells: the sum of what the density, particles, hidden liquid and
/// solids, exceeds 1. What is left of all liquid is its volume: spray, films and jets count what
/// they are, and what is compressed is missing. Averaged over two cells, since particles that lie
/// uneven within a cell are not compressed. (settled) => pressed
double density_pressed(BrimSim *s);

/// The deepest particle inside a solid in each cell gives the cell's push out of it, at most half a
/// cell. (x, solid_phi, solid_fine) => (push, push_depth, pushed). Returns how many particles are
/// inside.
bool push_out_find(BrimSim *s, int64_t *inside);
/// Displacement that particles inside solids give to the lower face of a cell, cells.
float push_out_face(const BrimSim *s, int axis, int64_t cell, int64_t below);

/// Particles that were inside, no deeper than they may go, and still are after the displacements of
/// faces, which open parts dilute, walk the rest of their own way, eq. (13).
void push_out_rest(BrimSim *s, uint32_t first, uint32_t end, const float low[3],
                   const float high[3]);

/// Spreads the particles of cells far above rest density over sub-cells, with the cell's mean
/// velocity; so that particles on one spot part. (density, x, v) => (x, v)
void redistribute(BrimSim *s);
