"""Layout of the rows that describe new symbols, from the resolver to `names.py` and `_location_namer.pyx`.

`_resolver.pyx` has the same layout as dtypes of numpy.
"""

from libc.stdint cimport uint32_t, uint64_t

cdef enum: NONE = 0xFFFFFFFF

# Kinds of keys that the resolver adds to those of the log (`_raw.h`).
cdef enum:
    FIELD_BY_HASH = 17    # of a namespace; key: the hash of the name
    KEY_IDENTITY = 18     # key: the object that is the key. By serial in the resolver, by number in a row

# What of a primitive is a location.
cdef enum:
    PART_ITEMS = 1        # of a queue
    PART_PICKED = 2       # of a queue that picks what comes out first
    PART_STATE = 3
    PART_SELF = 4         # of a thread: who it is, and what it has for itself

cdef struct NewLocation:
    uint64_t key
    uint32_t object
    uint32_t site
    uint32_t kind
    uint32_t part         # of a primitive: PART_..., or 0

cdef struct NewObject:
    uint64_t address
    uint64_t space        # the namespace of the global that it is the value of; 0: none
    uint32_t type
    uint32_t via          # location that it was reached through, or NONE
    uint32_t site
    uint32_t kind         # of the key that it was first used with
    uint32_t is_class
    uint32_t primitive    # OF_... and 1; 0: it is none
    uint32_t name         # of that global
    uint32_t unused

cdef struct NewPrimitive:
    uint64_t address
    uint64_t space        # as in NewObject
    uint32_t name
    uint32_t via          # location that it was reached through, or NONE
    uint32_t site         # where it was first used
    uint32_t unused

cdef struct NewPair:
    uint32_t first
    uint32_t second

cdef struct NewHand:
    uint64_t number       # in the name of the hand-over
    uint32_t primitive
    uint32_t what         # HAND_OF_...
