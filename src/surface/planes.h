// How the planes that particles carry make a distance: numbers that simulation and meshes share.
#pragma once

/// Reach of a particle's plane, in cells, and how much nearer ones count more.
#define TRACK_REACH 1.5f
#define TRACK_NEARNESS 0.2f
/// The direction towards the air is certain from this offset of the mean position on, in cells.
#define TRACK_CERTAIN 0.15f
/// Particles may lie as far outside the surface, cells; what is farther out counts as there.
#define TRACK_ABOVE 0.25f
/// Planes that weigh less than this together tell nothing.
#define TRACK_LEAST 1e-3f
/// Differences between memory and positions, in cells, from which on memory of water that moves
/// fades at once, over as much; as far as this from the surface of positions, for beyond they err
/// by as much themselves.
#define TRACK_ASTRAY 0.3f
#define TRACK_BOUND 0.5f
