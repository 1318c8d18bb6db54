# cython: language_level=3
"""Pools: slots of an array, and blocks of memory, that are used again once they are given back.

The array of a pool belongs to its owner, who reads and writes the slots through a pointer of their own type.
"""

from libc.stdint cimport uint32_t
from libc.stdlib cimport free
from libc.string cimport memset

from atomsan.trace._memory cimport has_room

cdef enum: NO_SLOT = 0xFFFFFFFF


cdef struct Pool:
    size_t room
    uint32_t used           # slots that were ever taken. Set it before the first is, to leave the lowest ones out
    uint32_t free           # the slot that was given back last, plus 1; 0: none


cdef inline uint32_t take_slot(Pool *pool, void **slots, size_t width) noexcept nogil:
    """A slot of the array: a new one is zero, a used one is as it was left but for its first four bytes.

    NO_SLOT: no memory, or no number is left.
    """
    cdef uint32_t slot
    if pool.free:
        slot = pool.free - 1
        pool.free = (<uint32_t *> (<char *> slots[0] + slot * width))[0]
        return slot
    if pool.used == NO_SLOT or not has_room(slots, &pool.room, <size_t> pool.used + 1, width):
        return NO_SLOT
    pool.used += 1
    return pool.used - 1


cdef inline void give_slot(Pool *pool, void *slots, size_t width, uint32_t slot) noexcept nogil:
    """Give a slot back. Its first four bytes link it to the next free one."""
    (<uint32_t *> (<char *> slots + slot * width))[0] = pool.free
    pool.free = slot + 1


cdef extern from * nogil:
    """
    typedef struct {
        void *free[40];         /* by power of two: each begins with the address of the next */
        void **chunks;          /* what blocks are cut from */
        size_t chunk_count, chunk_room;
        char *cut;              /* what is left of the last chunk */
        size_t left;            /* bytes of it */
    } atomsan_blocks;

    ATOMSAN_RARE int atomsan_add_chunk(atomsan_blocks *blocks, size_t size) {
        size_t bytes = size > 1 << 16 ? size : 1 << 16;
        size_t needed = blocks->chunk_count + 1;
        if (needed > blocks->chunk_room
                && !atomsan_enlarge((void **) &blocks->chunks, &blocks->chunk_room, needed, sizeof(void *)))
            return 0;
        void *chunk = malloc(bytes);
        if (!chunk) return 0;
        blocks->chunks[blocks->chunk_count++] = chunk;
        blocks->cut = (char *) chunk;
        blocks->left = bytes;
        return 1;
    }
    """
    ctypedef struct Blocks "atomsan_blocks":        # all zero: there are none
        void **free
        void **chunks
        size_t chunk_count
        char *cut
        size_t left
    bint add_chunk "atomsan_add_chunk"(Blocks *blocks, size_t size)


cdef inline void *take_block(Blocks *blocks, uint32_t power, size_t unit) noexcept nogil:
    """`unit << power` bytes, all zero. The unit is a multiple of 8, and always the same. NULL: no memory."""
    cdef void *block = blocks.free[power]
    cdef size_t size = unit << power
    if block != NULL:
        blocks.free[power] = (<void **> block)[0]
    else:
        if size > blocks.left and not add_chunk(blocks, size):
            return NULL
        block = blocks.cut
        blocks.cut += size
        blocks.left -= size
    memset(block, 0, size)
    return block


cdef inline void give_block(Blocks *blocks, void *block, uint32_t power) noexcept nogil:
    (<void **> block)[0] = blocks.free[power]
    blocks.free[power] = block


cdef inline void free_blocks(Blocks *blocks) noexcept nogil:
    """Free all, given back or not."""
    cdef size_t i
    for i in range(blocks.chunk_count):
        free(blocks.chunks[i])
    free(blocks.chunks)
    memset(blocks, 0, sizeof(Blocks))
