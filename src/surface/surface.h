// What the level set of positions and the tracked surface share: which particles a cell sees.
#pragma once
#include "grid/mask.h"
#include "step/state.h"

/// Masks of a tile's rows and of those one cell around it: ten bits a row, bit 0 is x = -1.
typedef struct PaddedRows {
    uint16_t at[TILE + 2][TILE + 2]; ///< [z + 1][y + 1]; in 2D only z + 1 = 1
} PaddedRows;

/// `outside`: rows beyond the domain; 0 where no tile exists.
void pad_rows(const BrimSim *s, const uint8_t *mask, int slot, uint8_t outside, PaddedRows *rows);
/// Cells of a row around which all of the 3 x 3 x 3 cells are in a mask.
uint8_t row_deep(const PaddedRows *rows, int dim, int y, int z);

/// The rows around a tile, looked up when a cell first asks for them.
typedef struct NearRows {
    LevelSetNear near;
    bool ready[TILE + 2][TILE + 2];
    LevelSetRow at[TILE + 2][TILE + 2]; ///< [z + 1][y + 1]
} NearRows;

void near_begin(const BrimSim *s, int slot, NearRows *rows);
/// The particles of a row around a tile, -1 to 8 along y and z.
const LevelSetRow *near_row(const BrimSim *s, NearRows *rows, int slot, int y, int z);
/// The solid's surface near some cells (bits) of a row. => rows->near
void near_planes(const BrimSim *s, NearRows *rows, int slot, int row, uint8_t cells);
/// Makes the particles around some cells (bits) of a row ready to be seen. => rows->near
void near_look(const BrimSim *s, NearRows *rows, int slot, int row, uint8_t cells);

/// Cells of a tile in which liquid may be: inside the domain, not beside an open side (pressure is
/// zero there), with an open face; what is in them belongs there.
TileMask allowed_cells(const BrimSim *s, int slot);
