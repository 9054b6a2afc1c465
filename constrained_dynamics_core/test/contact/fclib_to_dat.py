# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors
"""Writes a friction contact problem of FCLIB (HDF5) in the form that contact_problems_test reads.

    python fclib_to_dat.py problem.hdf5 problem.dat

Needs h5py, numpy and scipy. Global problems, M v = H r + f and u = Hᵀ v + w, become local ones, u = W r + q.
"""

import sys

import h5py
import numpy
import scipy.sparse
import scipy.sparse.linalg


def read_matrix(group):
    rows, columns, kind = (int(group[key][0]) for key in ("m", "n", "nz"))
    i, p, x = (group[key][:] for key in ("i", "p", "x"))
    if kind >= 0:  # triplets
        return scipy.sparse.coo_matrix((x[:kind], (i[:kind], p[:kind])), (rows, columns)).tocsc()
    if kind == -1:
        return scipy.sparse.csc_matrix((x, i, p), (rows, columns))
    return scipy.sparse.csr_matrix((x, i, p), (rows, columns)).tocsc()


def read_problem(path):
    with h5py.File(path) as file:
        if "fclib_local" in file:
            group = file["fclib_local"]
            w = read_matrix(group["W"]).toarray()
            q = group["vectors/q"][:]
        else:
            group = file["fclib_global"]
            h = read_matrix(group["H"])
            solve = scipy.sparse.linalg.splu(read_matrix(group["M"])).solve
            w = h.T @ solve(h.toarray())
            q = h.T @ solve(group["vectors/f"][:]) + group["vectors/w"][:]
        return int(group["spacedim"][0]), w, q, group["vectors/mu"][:]


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: fclib_to_dat.py problem.hdf5 problem.dat")
    dimension, w, q, mu = read_problem(sys.argv[1])
    with open(sys.argv[2], "w", encoding="ascii") as out:
        print(dimension, len(mu), 0, *w.shape, *w.shape, sep="\n", file=out)
        for values in (w, q[None, :], mu[None, :]):
            numpy.savetxt(out, values, fmt="%.17g")


if __name__ == "__main__":
    main()
