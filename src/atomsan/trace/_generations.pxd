# cython: language_level=3
"""Generation-checked references to reused slots: a reference is void once its slot has been given back.

A slot counts its owners: its generation is 1 for the first, and goes up when the owner goes. A reference holds the
slot and the generation that it had, in one word. References are never searched for and cleared: one of an earlier
generation is found to be void when it is looked at. A slot with generation 0 is out of use, or has never been used.
"""

from libc.stdint cimport uint32_t, uint64_t

ctypedef uint64_t Ref       # 0 refers to nothing


cdef inline Ref reference(uint32_t slot, uint32_t generation) noexcept nogil:
    return slot | <uint64_t> generation << 32


cdef inline uint32_t slot_of(Ref ref) noexcept nogil:
    return <uint32_t> ref


cdef inline bint refers_to(Ref ref, uint32_t generation) noexcept nogil:
    """Whether a reference, not 0, is to the present owner of its slot, whose generation this is."""
    return ref >> 32 == generation


cdef inline void begin_generation(uint32_t *generation) noexcept nogil:
    """The slot gets an owner, perhaps its first."""
    if generation[0] == 0:
        generation[0] = 1


cdef inline bint end_generation(uint32_t *generation) noexcept nogil:
    """The owner goes: every reference to the slot is void. False: the slot's generations are used up, leave it out."""
    generation[0] += 1
    return generation[0] != 0
