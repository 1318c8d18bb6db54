# cython: language_level=3, freethreading_compatible=True
"""Names of locations: `Account.balance (Account #2)`, `cache['user']`, `Account.items[0] (Account #2)`, `bank.total`.

There can be millions, so a name is put together in one buffer and goes from there into the table of names. Of an
object only three numbers are kept, and of a location three: enough to name what is reached through it. No two locations
share a name: the hashes of names are kept, and one that is taken gets a `#n`.

What is dead is forgotten (`forget`), once nothing that is alive is named after it: a container that is the value of a
location keeps that, and the object that the location is of. The names themselves leave the table when they have been
written; the few that are needed again are read from there.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from atomsan.recorder.log._raw cimport KEY_FIELD, KEY_HASH, KEY_INDEX, KEY_NUMBER, KEY_STRUCTURE, KEY_WHOLE
from atomsan.recorder.log._rows cimport FIELD_BY_HASH, KEY_IDENTITY, NONE, PART_ITEMS, PART_SELF, PART_STATE, NewObject
from atomsan.trace._hashing cimport Map, MapEntry, fibonacci, free_map, map_find, map_has_room
from atomsan.trace._hashing cimport forget as forget_key
from atomsan.trace._memory cimport ensure_room, out_of_memory
from atomsan.trace._names cimport NameTable, long_hash
from atomsan.trace._sparse cimport Sparse, forget_rows, free_sparse, has_sparse_room

# A primitive of which nothing else is known, by its OF_... in `_raw.h`.
cdef tuple PRIMITIVES = ("event", "future", "queue", "semaphore", "barrier", "thread", "queue", "lock", "thread")

# How an object is called.
cdef enum:
    NUMBERED      # by its class: `Account #2`
    ACTIVATION    # the closure variables of one call: `f #3`
    A_MODULE      # by a text: its name
    A_CLASS       # the same
    LABELLED      # by what the source calls a container
    VIA           # by the location that it was reached through

cdef struct ObjectName:
    uint32_t form
    uint32_t what     # class, label or location
    uint32_t n        # which of those
    uint32_t held     # its locations that a living object is named after
    uint8_t is_used   # a location is of it
    uint8_t is_dead

cdef struct LocationName:
    uint32_t object
    uint32_t head     # how much of its name stands before the key of an element
    uint32_t uses     # containers reached through it
    uint32_t held     # those of them that are alive
    uint64_t seen     # the hash of its name, if that is kept, and 1; 0: it is not
    uint8_t is_dead


# So many names that are not in memory any more are kept for the next container that is named after them, and so many of
# the texts that locations share.
cdef enum: MOST_OLDER = 1024


cdef class LocationNamer:
    """Names the objects and locations of one recording, in the order of their numbers."""

    cdef object definitions
    cdef dict types, modules, sites
    cdef object namespace_types
    cdef object table             # of locations
    cdef NameTable names
    cdef ObjectName *objects      # those of `object_rows`
    cdef Sparse object_rows
    cdef size_t object_count
    cdef LocationName *locations  # those of `location_rows`
    cdef Sparse location_rows
    cdef size_t location_count
    cdef dict older               # number -> name of a location that left memory
    cdef Map seen                 # how often there was a name, by its hash
    cdef char *text               # the name being made
    cdef size_t size
    cdef size_t room
    cdef dict class_numbers       # shown name -> number
    cdef list classes             # shown names, as bytes
    cdef list class_texts         # the same, as texts
    cdef list class_counts
    cdef list class_is_plain      # no spaces or signs in it
    cdef dict label_numbers
    cdef list labels
    cdef list label_counts
    cdef dict paths               # bytes -> text, of classes of containers
    cdef dict fields              # (kind, number) -> what `field` gives
    cdef uint32_t last_kind       # of the last that was asked for
    cdef uint64_t last_key
    cdef tuple last_field

    def __cinit__(self, definitions, table):
        self.definitions = definitions
        self.types, self.modules, self.sites = definitions.types, definitions.modules, definitions.sites
        self.namespace_types = definitions.language.namespace_types
        self.table = table
        self.names = table.names
        self.class_numbers, self.classes, self.class_texts, self.class_counts = {}, [], [], []
        self.label_numbers, self.labels, self.label_counts = {}, [], []
        self.class_is_plain = []
        self.paths, self.fields, self.older = {}, {}, {}

    def __dealloc__(self):
        free_sparse(&self.object_rows)
        free_sparse(&self.location_rows)
        free_map(&self.seen)
        free(self.text)

    def add(self, objects, locations):
        """Name what is new: rows of `OBJECT_ROW` and `LOCATION_ROW` of `_resolver.pyx`."""
        cdef size_t o = 0, total = len(objects), i
        cdef const NewObject[:] row = objects
        cdef const uint64_t[:] keys = locations["key"]
        cdef const uint32_t[:] owners = locations["object"]
        cdef const uint32_t[:] kinds = locations["kind"]
        cdef const uint32_t[:] parts = locations["part"]
        # a column is made when there is something to put into it, and then has a row for each location
        cdef list object_column, class_column, field_column, owner_column
        cdef object text = None, path = None, owner = None, field
        cdef uint32_t named = NONE
        if not total and not len(locations):
            return
        columns = self.table.columns
        object_column, class_column, field_column, owner_column = [
            columns.setdefault(name, []) for name in ("object", "class", "field", "owner")
        ]
        for i in range(<size_t> keys.shape[0]):
            # an object may be reached through a location that has its name only now
            while o < total and self.object_count <= owners[i]:
                self.add_object(&row[o])
                o += 1
            if owners[i] != named:
                named = owners[i]
                text, path, owner = self.object_text(named), self.path(named), self.owner(named)
            if kinds[i] == KEY_IDENTITY:
                while o < total and self.object_count <= keys[i]:
                    self.add_object(&row[o])
                    o += 1
            field = self.add_location(owners[i], kinds[i], keys[i], parts[i])
            object_column.append(text)
            class_column.append(path)
            field_column.append(field)
            owner_column.append(owner)
        while o < total:
            self.add_object(&row[o])
            o += 1

    def forget(self, const uint32_t[::1] objects, const uint32_t[::1] locations):
        """Nothing that is new from now on is of these objects or locations, or named after one that is not held."""
        cdef Py_ssize_t i
        for i in range(locations.shape[0]):
            if locations[i] < self.location_count:
                self.forget_location(locations[i])
        for i in range(objects.shape[0]):
            if objects[i] < self.object_count:
                self.forget_object(objects[i])

    def hold(self, const uint32_t[::1] locations):
        """What is new may be named after these until they are let go, dead or alive."""
        cdef Py_ssize_t i
        for i in range(locations.shape[0]):
            self.take_hold(locations[i])

    def let_go(self, const uint32_t[::1] locations):
        cdef Py_ssize_t i
        for i in range(locations.shape[0]):
            self.give_up(locations[i])

    cdef int forget_location(self, uint32_t number) except -1:
        cdef LocationName *location = self.locations + number
        if location.seen:
            self.forget_seen(location.seen - 1)
            location.seen = 0
        if location.held:
            location.is_dead = True
        elif not forget_rows(&self.location_rows, &number, 1, sizeof(LocationName)):
            out_of_memory()
        return 0

    cdef int forget_object(self, uint32_t number) except -1:
        cdef ObjectName *name = self.objects + number
        if name.held:
            name.is_dead = True
            return 0
        if name.form == VIA:
            self.give_up(name.what)
        if not forget_rows(&self.object_rows, &number, 1, sizeof(ObjectName)):
            out_of_memory()
        return 0

    cdef void take_hold(self, uint32_t number) noexcept:
        """Something that is alive is named after this location."""
        cdef LocationName *location = self.locations + number
        if location.held == 0:
            self.objects[location.object].held += 1
        location.held += 1

    cdef int give_up(self, uint32_t number) except -1:
        """It is not any more."""
        cdef LocationName *location = self.locations + number
        cdef uint32_t owner = location.object
        location.held -= 1
        if location.held:
            return 0
        if location.is_dead:
            self.forget_location(number)
        self.objects[owner].held -= 1
        if self.objects[owner].is_dead and not self.objects[owner].held:
            self.forget_object(owner)
        return 0

    cdef void forget_seen(self, uint64_t key):
        """Of a name that was there once nobody asks again: an object's names have its number, or its place, in them."""
        cdef MapEntry *entry = map_find(&self.seen, key, fibonacci(key))
        if entry.value_plus_1 == 1:
            forget_key(&self.seen, key)

    def is_used(self, uint32_t number):
        """Whether there is a location of this object."""
        return number < self.object_count and self.objects[number].is_used

    def object_name(self, uint32_t number):
        """What an object is called in the columns of the locations."""
        return self.object_text(number)

    # Objects

    cdef int add_object(self, const NewObject *row) except -1:
        cdef ObjectName *new
        if not has_sparse_room(&self.object_rows, self.object_count + 1, sizeof(ObjectName)):
            out_of_memory()
        self.objects = <ObjectName *> self.object_rows.rows
        new = self.objects + self.object_count
        self.object_count += 1
        new.is_used = new.is_dead = False
        new.held = 0
        type_definition = self.types.get(row.type)
        if self.modules:
            module = self.modules.get(row.address)
            if module is not None and (type_definition is None or type_definition[1] in self.namespace_types):
                return self.labelled(new, module, A_MODULE)
        if row.is_class and type_definition is not None:
            return self.labelled(new, type_definition[1], A_CLASS)
        defined = self.sites.get(row.site) if row.site else None
        if row.kind == KEY_FIELD or row.kind == FIELD_BY_HASH:
            if defined is not None and defined.closure:
                self.numbered(new, defined.closure)
                new.form = ACTIVATION
                return 0
            return self.numbered(new, type_definition[1] if type_definition is not None else "object")
        if row.primitive and row.space:
            name = self.definitions.global_name(row.space, row.name)
            if name:
                return self.labelled(new, name, LABELLED)
        if row.primitive and row.via >= self.location_count:
            # the site is the last that its user came by, and that need not be about the primitive
            return self.numbered(new, type_definition[1] if type_definition is not None else PRIMITIVES[row.primitive - 1])
        if row.via < self.location_count:
            return self.reached(new, row.via)
        if defined is not None and is_plain(defined.expression):
            return self.labelled(new, defined.expression, LABELLED)
        return self.numbered(new, type_definition[1] if type_definition is not None else "object")

    cdef int numbered(self, ObjectName *new, str shown) except -1:
        cdef object number = self.class_numbers.get(shown)
        if number is None:
            number = self.class_numbers[shown] = len(self.classes)
            self.classes.append(encoded(shown))
            self.class_texts.append(shown)
            self.class_counts.append(0)
            self.class_is_plain.append(shown.replace(".", "").replace("<locals>", "").isidentifier())
        self.class_counts[number] += 1
        new.form, new.what, new.n = NUMBERED, number, self.class_counts[number]
        return 0

    cdef int labelled(self, ObjectName *new, str label, uint32_t form) except -1:
        cdef object number = self.label_numbers.get(label)
        if number is None:
            number = self.label_numbers[label] = len(self.labels)
            self.labels.append(encoded(label))
            self.label_counts.append(0)
        self.label_counts[number] += 1
        new.form, new.what, new.n = form, number, self.label_counts[number]
        return 0

    cdef int reached(self, ObjectName *new, uint32_t via) except -1:
        """A container that is the value of a location. Of a global's value people say `cache`, not `bank.cache`."""
        cdef LocationName *location = self.locations + via
        if location.object < self.object_count and self.objects[location.object].form == A_MODULE:
            field = self.table.get(via, "field")
            if field.isidentifier():
                return self.labelled(new, field, LABELLED)
        self.take_hold(via)
        location.uses += 1
        new.form, new.what, new.n = VIA, via, location.uses
        return 0

    cdef int put_object(self, uint32_t number, bytes key) except -1:
        """What an object is called, or if there is a key what its element is called."""
        cdef ObjectName *name = self.objects + number
        cdef size_t size, head
        cdef const char *raw
        if name.form == VIA:
            raw = self.name_at(name.what, &size)
            head = self.locations[name.what].head
            self.put(raw, head)
            self.put_count(name.n)
            self.put_bytes(key)
            self.put(raw + head, size - head)
            return 0
        if name.form >= A_MODULE:
            self.put_bytes(self.labels[name.what])
            self.put_count(name.n)
        else:
            self.put_bytes(self.classes[name.what])
            self.put(" #", 2)
            self.put_number(name.n)
        return self.put_bytes(key)

    cdef object object_text(self, uint32_t number):
        self.size = 0
        self.put_object(number, b"")
        return PyUnicode_DecodeUTF8(self.text, self.size, NULL)

    cdef object path(self, uint32_t number):
        """What the objects of this sort have in common: a class, a module, or the way to a container."""
        cdef ObjectName *name = self.objects + number
        cdef size_t size
        cdef const char *text
        if name.form == NUMBERED or name.form == ACTIVATION:
            return self.class_texts[name.what]
        if name.form != VIA:
            raw = self.labels[name.what]
        else:
            text = self.name_at(name.what, &size)
            raw = text[: self.locations[name.what].head]
        known = self.paths.get(raw)
        if known is None:
            if len(self.paths) >= MOST_OLDER:
                self.paths.clear()
            known = self.paths[raw] = raw.decode()
        return known

    cdef object owner(self, uint32_t number):
        """The object of whose attribute this container is the value."""
        cdef ObjectName *name = self.objects + number
        if name.form != VIA:
            return None
        number = self.locations[name.what].object
        if self.objects[number].form == VIA:
            return self.owner(number)
        if self.objects[number].form == NUMBERED or self.objects[number].form == A_CLASS:
            return self.object_text(number)
        return None

    # Locations

    cdef object add_location(self, uint32_t number, uint32_t kind, uint64_t key, uint32_t part):
        """Name one more; returns its field."""
        cdef ObjectName *owner = self.objects + number
        cdef size_t head
        cdef bytes raw
        cdef bint is_unique = False
        cdef LocationName *new
        self.size = 0
        if kind == KEY_FIELD or kind == FIELD_BY_HASH:
            raw, field, is_identifier = self.field(kind, key)
            head = self.put_field(number, raw)
            # `A.x (A #1)`: the number makes it the only one, and nothing else has a name of this form
            is_unique = owner.form == NUMBERED and is_identifier and self.class_is_plain[owner.what]
        else:
            if kind == KEY_STRUCTURE and part == PART_SELF:
                raw, field = b" (itself)", "<self>"
            elif kind == KEY_STRUCTURE and part == PART_STATE:
                raw, field = b" (state)", "<state>"
            elif kind == KEY_STRUCTURE and part:
                raw, field = b" (items)", "<queue>" if part == PART_ITEMS else "<items>"
            elif kind == KEY_STRUCTURE:
                raw, field = b" (structure)", "<structure>"
            elif kind == KEY_WHOLE:
                raw, field = b"[<any key>]", "<any key>"
            else:
                raw, field = self.shown_key(kind, key), "[...]"
            self.size = 0
            self.put_object(number, raw)
            head = self.size
            if owner.form == VIA:
                head -= self.tail(owner)
        if not is_unique:
            self.make_unique()
        self.names.append(self.text, self.size)
        if not has_sparse_room(&self.location_rows, self.location_count + 1, sizeof(LocationName)):
            out_of_memory()
        self.locations = <LocationName *> self.location_rows.rows
        owner.is_used = True
        new = self.locations + self.location_count
        new.object, new.head, new.uses, new.held, new.is_dead = number, <uint32_t> head, 0, 0, False
        new.seen = 0 if is_unique else long_hash(self.text, self.size) + 1
        self.location_count += 1
        return field

    cdef size_t tail(self, const ObjectName *name) noexcept:
        """How much of the name of the location that it was reached through stands behind its key, and behind ours."""
        cdef size_t size
        self.name_at(name.what, &size)
        return size - self.locations[name.what].head

    cdef const char *name_at(self, uint32_t number, size_t *size) except NULL:
        """The name of a location, until another one is asked for or added."""
        cdef uint64_t at
        cdef bytes raw
        if number >= self.names.dropped:
            at = number - self.names.dropped
            size[0] = self.names.offsets[at + 1] - self.names.offsets[at]
            return self.names.arena + self.names.offsets[at]
        raw = self.older.get(number)
        if raw is None:
            if len(self.older) >= MOST_OLDER:
                self.older.clear()
            raw = self.older[number] = self.table[number].encode()
        size[0] = PyBytes_GET_SIZE(raw)
        return PyBytes_AS_STRING(raw)

    cdef size_t put_field(self, uint32_t number, bytes field) except? 0:
        """`Account.balance (Account #2)`; returns the size of what stands before the object."""
        cdef ObjectName *owner = self.objects + number
        cdef size_t head
        if owner.form >= A_MODULE:
            self.put_object(number, b"." + field)
            if owner.form == VIA:
                return self.size - self.tail(owner)
            return self.size
        self.put_bytes(self.classes[owner.what])
        if owner.form == ACTIVATION:
            self.put(".<locals>.", 10)
        else:
            self.put(".", 1)
        self.put_bytes(field)
        head = self.size
        self.put(" (", 2)
        self.put_object(number, b"")
        self.put(")", 1)
        return head

    cdef tuple field(self, uint32_t kind, uint64_t key):
        """The name of an attribute, as bytes and as text, and whether it is an identifier."""
        cdef object known
        if kind == self.last_kind and key == self.last_key and self.last_field is not None:
            return self.last_field
        known = self.fields.get((kind, key))
        if known is not None:
            self.last_kind, self.last_key, self.last_field = kind, key, known
            return known
        if kind == KEY_FIELD:
            text = self.definitions.names.get(key)
        else:
            text = self.definitions.names_by_hash.get(key)
            if text is None:
                text = self.definitions.keys.get((KEY_HASH, key), "<key>").strip("'\"")
        is_identifier = text is not None and text.isidentifier()
        known = (encoded("?" if text is None else text), "?" if text is None else text, is_identifier)
        if known[1] != "?":
            self.fields[kind, key] = known
        return known

    cdef bytes shown_key(self, uint32_t kind, uint64_t key):
        if kind == KEY_INDEX:
            return b"[%d]" % key
        if kind == KEY_IDENTITY:
            if key < self.object_count:
                return b"[<%b>]" % self.object_text(<uint32_t> key).encode()
            return b"[<key>]"
        shown = self.definitions.keys.get((kind, key))
        if shown is not None:
            return b"[%b]" % encoded(shown)
        if kind == KEY_NUMBER:
            return b"[%d]" % (key if key < 1 << 63 else key - (1 << 64))
        return b"[<key>]"

    # The name being made

    cdef inline int put(self, const char *p, size_t size) except -1:
        ensure_room(<void **> &self.text, &self.room, self.size + size, 1)
        memcpy(self.text + self.size, p, size)
        self.size += size
        return 0

    cdef inline int put_bytes(self, bytes raw) except -1:
        return self.put(PyBytes_AS_STRING(raw), PyBytes_GET_SIZE(raw))

    cdef inline int put_number(self, uint64_t number) except -1:
        cdef char digits[20]
        cdef int at = 20
        while True:
            at -= 1
            digits[at] = <char> (48 + number % 10)
            number //= 10
            if number == 0:
                break
        return self.put(digits + at, 20 - at)

    cdef inline int put_count(self, uint64_t n) except -1:
        if n > 1:
            self.put(" #", 2)
            return self.put_number(n)
        return 0

    cdef int make_unique(self) except -1:
        """Put a number behind the name if it is taken."""
        cdef size_t size = self.size
        cdef uint32_t times = self.note(size)
        while times > 1:
            self.size = size
            self.put_count(times)
            if self.note(self.size) == 1:
                return 0
            times = self.note(size)   # that name is taken too: the next number
        return 0

    cdef uint32_t note(self, size_t size) except 0:
        """How often there was the name that the first `size` bytes are, with this time."""
        cdef uint64_t key = long_hash(self.text, size)
        cdef MapEntry *entry
        if not map_has_room(&self.seen, 2):
            out_of_memory()
        entry = map_find(&self.seen, key, fibonacci(key))
        if entry.value_plus_1 == 0:
            entry.key = key
            self.seen.used += 1
        entry.value_plus_1 += 1
        return entry.value_plus_1


cdef bytes encoded(str text):
    """As the table of names wants it: UTF-8, and no NUL."""
    return text.encode("utf-8", "backslashreplace").replace(b"\0", b"\\x00")


cdef bint is_plain(str expression):
    """`cache`, `self.items`: what can stand for a container in a name."""
    return bool(expression) and len(expression) <= 60 and expression.replace(".", "").isidentifier()
