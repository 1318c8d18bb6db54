# cython: language_level=3
"""Hashes of several numbers: each is mixed into that of the ones before (the finalizer of splitmix64)."""

from libc.stdint cimport uint64_t


cdef inline uint64_t mixed(uint64_t seed, uint64_t more) noexcept nogil:
    # the seed is multiplied first, so that small numbers do not cancel each other
    cdef uint64_t x = seed * <uint64_t> 0x9E3779B97F4A7C15 + more + <uint64_t> 0x632BE59BD9B4E019
    x = (x ^ (x >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t> 0x94D049BB133111EB
    return x ^ (x >> 31)
