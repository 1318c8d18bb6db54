# cython: language_level=3
"""The numbers of the operations, for every compiled loop. They are those of `events.Op`, and stand in stored traces."""

cdef enum:
    READ = 0
    WRITE = 1
    ACQUIRE = 2
    RELEASE = 3
    FORK = 4
    JOIN = 5
    BEGIN = 6
    END = 7
    POST = 8
    TAKE = 9
    # what `checkers.flattening` makes of some of them
    NOTHING = 10
    INNER = 11
