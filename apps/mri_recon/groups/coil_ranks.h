/* The coils of one volume, shared among the ranks of an MPI job. Rank 0 does all that it does alone. In each application of
 * F^H W F it sends the image to the others, which have the maps of their coils and the same Q, and adds up their results, in
 * the order of the ranks. A rank that fails leaves its coils to the others. */
#ifndef COIL_RANKS_H
#define COIL_RANKS_H

#include "frames/crew.h"

/* Whether this job shares its coils if that pays: several ranks, one frame, a solver, maps. The same on all ranks. Otherwise
 * job->shared gets the reason, if there is one frame. */
bool coil_ranks_possible(recon_job *job);

/* Rank 0, before frames are made: tells the others that they will be asked. It sets c->others. Errors: those of
 * vf_ranks_offer and vf_ranks_share. */
VF_MUST_CHECK vf_status coil_ranks_begin(crew *c);

/* Other ranks: wait, and do what rank 0 asks for until it ends. *made: the frame is made; else this rank must make it.
 * Errors: those of vf_ranks_share and vf_ranks_receive; VF_ERR_CANCELLED. Others are told to rank 0, which goes on without
 * this rank. */
VF_MUST_CHECK vf_status coil_ranks_serve(crew *c, bool *made);

/* Rank 0: gives the frame's maps to the devices and to the other ranks; at first, decides whether that pays, by applying F^H W
 * F. Errors: as crew_put_coils. */
VF_MUST_CHECK vf_status coil_ranks_give(crew *c, const scan_frame *frame);

/* Whether the last error came from a rank that was lost: after coil_ranks_give the work can be repeated. */
bool coil_ranks_lost(const crew *c);

/* If other ranks have coils, makes F^H W F of all coils from `own`, that of this rank's coils, which must outlive it; else *out is
 * NULL. Errors: as vf_operator_create. */
VF_MUST_CHECK vf_status coil_ranks_operator(crew *c, vf_operator *own, vf_operator **out);

/* Rank 0: lets the others go on. `made`: as in coil_ranks_serve. */
void coil_ranks_end(crew *c, bool made);

#endif
