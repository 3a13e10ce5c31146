// Plain twins of the transfer kernels: one particle after the other, double precision, straight
// from the formulas.
#pragma once
#include "grid/block.h"
#include "particles/transfer.h"

/// As TransferKernels.to_block, into doubles of the same shape.
void ref_to_block(const Span *p, bool affine, double *block);
/// As TransferKernels.from_block.
void ref_from_block(const Span *p, bool affine, float ratio, const float *const block[3], int halo);
/// As TransferKernels.move.
int ref_move(const Span *p, const MoveParams *m, uint32_t *far);
