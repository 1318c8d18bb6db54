# cython: language_level=3, freethreading_compatible=True
"""Names and their numbers: the storage of a symbol table, and the interning that parsers do on every line.

`NameTable` holds names in one block of bytes: a million locations cost their letters and eight bytes each, and no
Python object until somebody asks for one. `Interner` maps spellings in a text to ids. A spelling of up to 12 bytes
is compared as two integers inside its hash slot, so the usual look-up touches one cache line and never the block of
names (1.8 times as fast at a million locations as following a pointer).

Sites are often plain line numbers, as many as there are events. As long as each new one is the last plus one, they
are kept as a run (first, count) that takes no memory at all.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memchr, memcpy, memmove

from atomsan.trace._memory cimport ensure_room, out_of_memory

import numpy as np

from atomsan.errors import InputError, shown
from atomsan.trace.escapes import unescape

# A closed run of numbers shorter than this is moved into the hash index, where look-ups are quicker.
cdef enum: SHORT_RUN = 1 << 16

cdef enum: SMALL_TABLE = 1 << 18


cdef class NameTable:
    """Names numbered from 0, each once. `limit` is the most it takes; one more is an InputError."""

    def __cinit__(self, uint64_t limit=0xFFFFFFFF):
        self.limit = limit
        ensure_room(<void **> &self.arena, &self.arena_room, 1, 1)
        ensure_room(<void **> &self.offsets, &self.offsets_room, 1, sizeof(uint64_t))

    def __dealloc__(self):
        free(self.arena)
        free(self.offsets)

    cdef uint64_t size(self) noexcept nogil:
        return self.numbered_count + self.dropped + self.stored_count

    def __len__(self):
        return self.size()

    cdef int append(self, const char *p, size_t size) except -1 nogil:
        cdef uint64_t used = self.offsets[self.stored_count]
        self.make_room(1, size)
        memcpy(self.arena + used, p, size)
        self.stored_count += 1
        self.offsets[self.stored_count] = used + size
        return 0

    cdef int make_room(self, uint64_t count, uint64_t size) except -1 nogil:
        """See to it that so many more names fit, of so many bytes together; they are refused beyond the limit."""
        cdef uint64_t used = self.offsets[self.stored_count]
        if count > self.limit - self.size():
            with gil:
                raise InputError(f"more than {self.limit} different names of one kind")
        ensure_room(<void **> &self.arena, &self.arena_room, used + size, 1)
        return ensure_room(
            <void **> &self.offsets, &self.offsets_room, self.stored_count + count + 1, sizeof(uint64_t)
        )

    cdef bytes raw(self, uint64_t at):
        cdef uint64_t i
        if at < self.numbered_count:
            return b"%d" % (self.numbered_first + at)
        i = at - self.numbered_count - self.dropped
        if i >= self.stored_count:
            raise IndexError(f"the name of number {at} is not kept")
        return PyBytes_FromStringAndSize(self.arena + self.offsets[i], self.offsets[i + 1] - self.offsets[i])

    def __getitem__(self, index):
        if not 0 <= index < self.size():
            raise IndexError(f"no name has the number {index}; there are {self.size()}")
        return self.raw(index).decode()

    def __iter__(self):
        return (self[i] for i in range(self.size()))

    def add(self, str name not None):
        """Append a name known to be new."""
        if "\0" in name:
            raise InputError(f"a name holds a NUL: {shown(name.encode())}")
        cdef bytes padded = name.encode() + bytes(16)
        self.append(PyBytes_AS_STRING(padded), PyBytes_GET_SIZE(padded) - 16)
        return self.size() - 1

    def find(self, str name not None):
        """The number of a name, or None."""
        cdef bytes padded = name.encode() + bytes(16)
        cdef uint32_t id_plus_1
        self.make_index()
        id_plus_1 = find(&self.index.slots, PyBytes_AS_STRING(padded), PyBytes_GET_SIZE(padded) - 16)
        if id_plus_1:
            return id_plus_1 - 1
        if self.numbered_count and name.isascii() and name.isdigit() and str(int(name)) == name:
            if 0 <= int(name) - self.numbered_first < self.numbered_count:
                return int(name) - self.numbered_first
        return None

    def intern(self, str name not None):
        """The number of a name, given now if it has none yet."""
        found = self.find(name)
        return self.add(name) if found is None else found

    cdef int make_index(self) except -1:
        """Bring the index up to date: whoever parses appends names without it."""
        cdef uint64_t number
        cdef bytes padded
        if self.index is None:
            self.index = Index()
        self.indexed = max(self.indexed, self.dropped)
        while self.indexed < self.dropped + self.stored_count:
            number = self.numbered_count + self.indexed
            padded = self.raw(number) + bytes(16)
            self.index.insert(PyBytes_AS_STRING(padded), PyBytes_GET_SIZE(padded) - 16, number + 1)
            self.indexed += 1
        return 0

    def stored(self, uint64_t start, uint64_t stop):
        """Names start..stop that are not numbered, as (offsets from 0, bytes): what Arrow calls a string column."""
        cdef uint64_t i, base, count
        if not self.numbered_count + self.dropped <= start <= stop <= self.size():
            raise IndexError(f"names {start} to {stop} are not all stored")
        count = stop - start
        start -= self.numbered_count + self.dropped
        base = self.offsets[start]
        offsets = np.empty(count + 1, np.uint64)
        cdef uint64_t[::1] view = offsets
        for i in range(count + 1):
            view[i] = self.offsets[start + i] - base
        return offsets, PyBytes_FromStringAndSize(self.arena + base, self.offsets[start + count] - base)

    def extend(self, const uint64_t[::1] offsets, bytes data not None):
        """Append many names known to be new, as `stored` gives them. The bytes must be valid UTF-8."""
        cdef uint64_t i, count = max(offsets.shape[0] - 1, 0), used = self.offsets[self.stored_count]
        cdef uint64_t size, start
        for i in range(count):
            if offsets[i] > offsets[i + 1] or offsets[i + 1] > <uint64_t> PyBytes_GET_SIZE(data):
                raise InputError("a table of names is damaged")
        if count == 0:
            return
        start = offsets[0]
        size = offsets[count] - start
        self.make_room(count, size)
        memcpy(self.arena + used, PyBytes_AS_STRING(data) + start, size)
        for i in range(count):
            self.offsets[self.stored_count + 1 + i] = used + offsets[i + 1] - start
        self.stored_count += count

    def number_from(self, uint64_t first, uint64_t count):
        """Make the first `count` names the numbers `first`, `first` + 1, ..."""
        if self.size():
            raise ValueError("numbered names come before all others")
        if count > self.limit or first > 0xFFFFFFFFFF:
            raise InputError(f"numbered names from {first}, {count} of them: out of range")
        self.numbered_first = first
        self.numbered_count = count

    def drop(self, uint64_t before):
        """Keep no names before this number: they have been stored elsewhere. All names keep their numbers."""
        cdef uint64_t i, count = before - self.numbered_count - self.dropped, base
        if self.numbered_count or not self.dropped <= before <= self.size():
            raise IndexError(f"there are no names before {before} to drop")
        base = self.offsets[count]
        self.stored_count -= count
        self.dropped += count
        for i in range(self.stored_count + 1):
            self.offsets[i] = self.offsets[i + count] - base
        memmove(self.arena, self.arena + base, self.offsets[self.stored_count])

    def skip(self, uint64_t count):
        """So many more names, which are stored elsewhere. No name may be kept."""
        if self.stored_count or count > self.limit - self.size():
            raise InputError(f"{count} names cannot be left out here")
        self.dropped += count

    def memory(self):
        """Bytes held."""
        return self.arena_room + self.offsets_room * sizeof(uint64_t)


cdef inline uint64_t places(uint64_t mask) noexcept nogil:
    """Small tables stay three quarters empty: a first probe that hits is a branch predicted. Large ones half."""
    return 4 if mask < SMALL_TABLE else 2


cdef class Index:
    """A hash index from byte strings to numbers: short keys inside the slots, long ones in a block beside them."""

    def __cinit__(self):
        if not (shorts_have_room(&self.slots.shorts, 1) and longs_have_room(&self.slots.longs, 1)):
            raise MemoryError

    def __dealloc__(self):
        free(self.slots.shorts.entries)
        free(self.slots.longs.entries)
        free(self.slots.keys)

    cdef int insert(self, const char *p, size_t size, uint32_t id_plus_1) except -1 nogil:
        """Add a key that is not there. Like `find`, reads up to 12 bytes at p whatever the size."""
        return self.insert_short(p, size, id_plus_1) if size <= SHORT_MAX else self.insert_long(p, size, id_plus_1)

    cdef int insert_short(self, const char *p, size_t size, uint32_t id_plus_1) except -1 nogil:
        cdef ShortNames *names = &self.slots.shorts
        cdef ShortKey key = short_key(p, size)
        cdef ShortSlot *slot
        if not shorts_have_room(names, places(names.mask)):
            out_of_memory()
        slot = short_gap(names, short_hash(key))
        slot.head, slot.tail, slot.id_plus_1 = key.head, key.tail, id_plus_1
        names.used += 1
        return 0

    cdef int insert_long(self, const char *p, size_t size, uint32_t id_plus_1) except -1 nogil:
        cdef LongNames *names = &self.slots.longs
        cdef uint64_t hash = long_hash(p, size)
        cdef LongSlot *slot
        if not longs_have_room(names, places(names.mask)):
            out_of_memory()
        ensure_room(<void **> &self.slots.keys, &self.keys_room, self.keys_size + size, 1)
        slot = long_gap(names, hash)
        slot.hash, slot.key_at, slot.key_size, slot.id_plus_1 = hash, self.keys_size, <uint32_t> size, id_plus_1
        memcpy(self.slots.keys + self.keys_size, p, size)
        self.keys_size += size
        names.used += 1
        return 0


cdef inline bint is_plain(const char *p, size_t size) noexcept nogil:
    """No byte that needs a closer look: all ASCII, and no percent sign."""
    cdef size_t i
    cdef uint8_t seen = 0
    for i in range(size):
        seen |= <uint8_t> p[i]
    return seen < 128 and memchr(p, c"%", size) == NULL


cdef class Interner:
    """Numbers for the spellings of one kind of name in a text, which may use percent escapes."""

    def __cinit__(self, NameTable names not None, bint escapes=True):
        if names.size():
            raise ValueError("an interner starts with an empty table of names")
        self.names = names
        self.escapes = escapes
        self.spellings = Index()
        self.percent_names = {}
        self.number_run = True

    cdef uint32_t intern(self, const char *p, size_t size) except? 0xFFFFFFFF nogil:
        """The id of the name spelled by `size` bytes at p (12 more must be readable)."""
        cdef uint32_t id_plus_1 = find(&self.spellings.slots, p, size)
        return id_plus_1 - 1 if id_plus_1 else self.add(p, size)

    cdef bint can_add(self, const char *p, size_t size) noexcept nogil:
        """Whether `add` has nothing to ponder or to refuse about a spelling."""
        return is_plain(p, size) and not self.has_escapes and self.names.size() < self.names.limit

    cdef uint32_t add(self, const char *p, size_t size) except? 0xFFFFFFFF nogil:
        """The id of a spelling not seen before."""
        if self.can_add(p, size):
            self.names.append(p, size)
            self.spellings.insert(p, size, <uint32_t> self.names.size())
            return <uint32_t> self.names.size() - 1
        with gil:
            return self.add_name(p, size)

    cdef uint32_t add_name(self, const char *p, size_t size) except? 0xFFFFFFFF:
        """As `add`, for spellings that are escaped or may spell a name that another spelling had first."""
        cdef bytes spelling = PyBytes_FromStringAndSize(p, size)
        cdef bytes name = unescape(spelling) if self.escapes else spelling
        cdef bytes padded = name + bytes(16)
        cdef uint32_t number, plain_id
        try:
            PyUnicode_DecodeUTF8(PyBytes_AS_STRING(name), PyBytes_GET_SIZE(name), NULL)
        except UnicodeDecodeError as error:
            raise InputError(f"a name is not valid UTF-8: {shown(spelling)}") from error
        if b"\0" in name:
            raise InputError(f"a name holds an escaped NUL: {shown(spelling)}")
        if name in self.percent_names:
            number = self.percent_names[name]
        else:
            plain_id = 0
            if name != spelling and b"%" not in name:
                plain_id = find(&self.spellings.slots, PyBytes_AS_STRING(padded), PyBytes_GET_SIZE(name))
            if plain_id:
                number = plain_id - 1
            else:
                self.names.append(PyBytes_AS_STRING(name), PyBytes_GET_SIZE(name))
                number = <uint32_t> self.names.size() - 1
            if b"%" in spelling:
                self.percent_names[name] = number
                self.has_escapes = True
        self.spellings.insert(p, size, number + 1)
        return number

    cdef uint32_t intern_site(self, const char *p, size_t size) except? 0xFFFFFFFF nogil:
        """As `intern`, with consecutive numbers kept as a run."""
        cdef uint64_t number = 0, offset
        cdef size_t i
        if not self.number_run or size > 10 or (p[0] == c"0" and size > 1):
            return self.intern(p, size)
        for i in range(size):
            if not c"0" <= p[i] <= c"9":
                break
            number = 10 * number + <uint8_t> (p[i] - c"0")
        else:
            if self.names.size() == 0:
                self.names.numbered_first = number
            offset = number - self.names.numbered_first   # wraps to something huge below the first
            if offset < self.names.numbered_count:
                return <uint32_t> offset
            if offset == self.names.numbered_count and self.names.stored_count == 0 and offset < self.names.limit:
                self.names.numbered_count += 1
                return <uint32_t> offset
        if self.names.stored_count == 0 and self.names.numbered_count < SHORT_RUN:
            with gil:
                self.close_run()
        return self.intern(p, size)

    cdef int close_run(self) except -1:
        """No number continues the short run any more: its names become ordinary spellings."""
        cdef uint64_t i
        cdef bytes padded
        self.number_run = False
        for i in range(self.names.numbered_count):
            padded = b"%d" % (self.names.numbered_first + i) + bytes(16)
            self.spellings.insert(PyBytes_AS_STRING(padded), PyBytes_GET_SIZE(padded) - 16, i + 1)
        return 0

    def spelled(self, bytes spelling not None):
        """The id of one spelling; for callers in Python."""
        cdef bytes padded = spelling + bytes(16)
        return self.intern(PyBytes_AS_STRING(padded), PyBytes_GET_SIZE(spelling))

    def spelled_site(self, bytes spelling not None):
        """As `spelled`, for sites."""
        cdef bytes padded = spelling + bytes(16)
        return self.intern_site(PyBytes_AS_STRING(padded), PyBytes_GET_SIZE(spelling))
