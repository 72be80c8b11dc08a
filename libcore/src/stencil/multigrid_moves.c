#include <string.h>

#include "multigrid_levels.h"
#include "voxfield/team_size.h"

#define REAL float
#define NAME(x) x##_f32
#include "multigrid_moves.inc"
#undef REAL
#undef NAME

#define REAL double
#define NAME(x) x##_f64
#include "multigrid_moves.inc"

const vf_multigrid_moves vf_multigrid_moves_f32 = {faces_f32, reaction_f32, restrict_residual_f32, add_correction_f32};
const vf_multigrid_moves vf_multigrid_moves_f64 = {faces_f64, reaction_f64, restrict_residual_f64, add_correction_f64};
