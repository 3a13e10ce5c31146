// What solids take of the cells of a tile.
#pragma once

enum {
    /// Nodes of a tile and one cell around it: -1 to 9 along each axis.
    PART_NODES = 11,
};

/// Distances in cells at nodes [z][y][x] (2D: one slice) => for each of the tile's cells the part
/// of its kernel's weight, and of its volume, that lies inside solids. side: the part of the kernel
/// beyond one of the cell's faces. Integrated over octants of cells, each filled as far as a plane
/// at the distance of its centre cuts it: exact for walls along the grid at half cells.
void solid_part(int dim, const float *node, float side, float *kernel, float *volume);

/// The same from distances at half cells, of as many cells: exact for them at quarter cells.
void solid_part_halves(int dim, const float *half, float side, float *kernel, float *volume);
