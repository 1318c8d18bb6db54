"""Writes the log of the recorded process: a ring of records, and definitions of the threads, types and names in them.

Everything here runs with the GIL held, so there is one writer at a time, and the order of the ring is the order in
which things happened. `_writer.h` writes a record inline; the rare parts are here: waiting for room, registering a
thread, numbering a type, asking the scheduler. Whatever sends a definition, waits or asks the scheduler may let another
thread run, and must therefore come before the look at the program's data, never between a look and its record.
"""

import sys
from os import close as close_file, fsencode as encode_path, pread as read_at
from threading import get_ident

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memset

from atomsan.recorder.python._writer cimport (
    NOT_LIVE, RAW_WHAT, RAW_WORD, SEEN_SLOTS, SLACK, State, Thread, has_room, mark_seen, put,
)
from atomsan.recorder.python.key_types import shown_key
from atomsan.recorder.log._raw cimport (
    FLAG_QUEUE, KEY_STRUCTURE, RAW_FREE, RAW_HEAD_BYTES, RAW_MAGIC, RAW_REGION, RAW_REGION_END, RAW_THREAD, RawHead, RawRecord,
)

cdef extern from *:
    """
    #include <errno.h>
    #include <fcntl.h>
    #include <pthread.h>
    #include <sys/file.h>
    #include <sys/mman.h>
    #include <sys/stat.h>
    #include <time.h>
    #include <unistd.h>
    #include "_dealloc.h"

    ATOMSAN_THREAD_LOCAL Thread atomsan_thread;

    static inline Thread *this_thread(void) { return &atomsan_thread; }

    static void sleep_for(long nanoseconds) {
        struct timespec time = {nanoseconds / 1000000000L, nanoseconds % 1000000000L};
        nanosleep(&time, NULL);
    }

    static uint64_t now(void) {
        struct timespec time;
        clock_gettime(CLOCK_MONOTONIC, &time);
        return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    }

    /* Whether a process holds the lock of this file. If it is gone, nobody does; if it cannot be asked, somebody may. */
    static int is_locked(const char *path) {
        int held, descriptor = open(path, O_RDONLY | O_CLOEXEC);
        if (descriptor < 0) return errno != ENOENT;
        held = flock(descriptor, LOCK_SH | LOCK_NB) < 0;
        close(descriptor);
        return held;
    }

    static int watch_forks(void (*child)(void)) { return pthread_atfork(NULL, NULL, child); }

    static void add_one(volatile uint32_t *counter) { __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); }

    static PyObject *mapped(int descriptor, Py_ssize_t size) {
        void *memory = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        if (memory == MAP_FAILED) return PyErr_SetFromErrno(PyExc_OSError);
        return PyMemoryView_FromMemory((char *)memory, size, PyBUF_WRITE);
    }

    typedef struct { dev_t device; ino_t inode; } FileIdentity;   /* of no file: zeros */

    static FileIdentity identity_of(int descriptor) {
        struct stat facts;
        FileIdentity found = {0, 0};
        if (fstat(descriptor, &facts) == 0) { found.device = facts.st_dev; found.inode = facts.st_ino; }
        return found;
    }

    static int is_file(int descriptor, FileIdentity known) {
        FileIdentity found = identity_of(descriptor);
        return found.inode != 0 && found.inode == known.inode && found.device == known.device;
    }

    /* The small numbers are the program's, and it may count on getting them in turn. */
    static int open_high(const char *path) {
        int high, descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
        if (descriptor < 0) return -1;
        high = fcntl(descriptor, F_DUPFD_CLOEXEC, 200);
        if (high < 0) return descriptor;
        close(descriptor);
        return high;
    }

    /* From now on, each write goes to the end of the file: where the position stands is all the same. */
    static void write_to_end(int descriptor) {
        int flags = fcntl(descriptor, F_GETFL);
        if (flags >= 0) fcntl(descriptor, F_SETFL, flags | O_APPEND);
    }

    /* How many of the bytes were written. */
    static size_t write_all(int descriptor, const char *bytes, size_t count) {
        size_t written = 0;
        while (written < count) {
            ssize_t more = write(descriptor, bytes + written, count - written);
            if (more > 0) written += (size_t)more;
            else if (more == 0 || errno != EINTR) break;
        }
        return written;
    }
    """
    Thread *this_thread() nogil
    void sleep_for(long nanoseconds) nogil
    uint64_t now() nogil
    bint is_locked(const char *path)
    int watch_forks(void (*child)() noexcept nogil)
    void add_one(uint32_t *counter)
    object mapped(int descriptor, Py_ssize_t size)
    int getpid() nogil
    int getppid() nogil
    ctypedef struct FileIdentity:
        pass
    FileIdentity identity_of(int descriptor)
    bint is_file(int descriptor, FileIdentity known)
    int open_high(const char *path)
    void write_to_end(int descriptor)
    size_t write_all(int descriptor, const char *bytes, size_t count)
    ctypedef void (*destructor)(PyObject *) noexcept
    int hook_type(PyTypeObject *type, int nests)
    void unhook_types()
    void rehook_types()
    void log_dealloc(PyObject *self)
    State *free_state
    void (*log_known_free)(State *s, uint64_t address) noexcept

cdef extern from "Python.h":
    PyObject *PyEval_GetGlobals() noexcept
    int PyObject_GetBuffer(object, Py_buffer *, int) except -1
    void PyBuffer_Release(Py_buffer *)
    int PyBUF_WRITABLE
    void PyErr_Fetch(PyObject **, PyObject **, PyObject **)
    void PyErr_Restore(PyObject *, PyObject *, PyObject *)
    int Py_AddPendingCall(int (*function)(void *) noexcept, void *argument)
    int PyThreadState_SetAsyncExc(unsigned long thread, PyObject *exception)
    void Py_INCREF "Py_INCREF"(PyObject *)
    void Py_DECREF "Py_DECREF"(PyObject *)
    void Py_XDECREF "Py_XDECREF"(PyObject *)
    bint PyLong_Check(PyObject *)
    uint64_t PyLong_AsUnsignedLongLongMask(PyObject *)
    ctypedef struct _TypeObject "PyTypeObject":
        PyTypeObject *tp_base
        destructor tp_dealloc
        const char *tp_name
        unsigned long tp_flags
        PyObject *tp_dict

# The reader is not waited for any more if it took nothing for so many milliseconds while the program waits for room, if
# the head of the ring does not say it, nor that of the parent of a forked process.
cdef uint32_t PATIENCE = 60_000
# Of a short sleep, no more than so many nanoseconds count for that: a program that was stopped did not wait.
cdef uint64_t MOST_SLEPT = 50_000_000
# Between two looks at what the reader wants (`stop`).
cdef uint64_t STRIDE = 4096
# Keys that are given a name, at most: a program with millions of keys should not spend its time on naming them.
cdef uint64_t MOST_KEYS = 200_000

cdef State the_state
cdef Py_buffer buffer
cdef bint has_buffer = False
cdef object send = None
cdef bint redact = False
cdef bint paused = False
# Who reads: the parent process of this number, or whoever holds the lock of this file.
cdef int reader = 0
# In a forked process: the head of the ring of its parent.
cdef RawHead *head_of_parent = NULL
cdef bytes reader_file = None
cdef uint32_t threads = 0
cdef dict names = {}
cdef uint32_t name_count = 0
cdef dict namespaces = {}
# Namespaces of modules while nobody watches for their death.
cdef list kept = []
ctypedef void (*Forget)() noexcept
cdef Forget forget_types = NULL
cdef Forget notice_entered = NULL
ctypedef void (*Notice)(uint64_t address) noexcept
cdef Notice notice_free = NULL

# FREE records for which even the reserve had no room: the next probe writes them first.
cdef uint64_t *waiting_frees = NULL
cdef size_t waiting_count = 0
cdef size_t waiting_capacity = 0

# Decides at scheduling points which thread goes on (`types.Scheduler`); and the record before which it is asked next.
cdef object scheduler = None
cdef object ask = None    # its method `point`
cdef uint64_t NEVER = 0xFFFFFFFFFFFFFFFF
cdef uint64_t next_point = NEVER


# --- sets and maps of addresses and hashes ---------------------------------------------------------------------------

cdef struct Entry:
    uint64_t key     # 0: free
    uint64_t value

cdef struct Table:
    Entry *entries
    uint64_t mask
    uint64_t used


cdef inline uint64_t spread(uint64_t key) noexcept nogil:
    return (key ^ (key >> 29)) * <uint64_t>0x9E3779B97F4A7C15


cdef Entry *find(Table *table, uint64_t key) noexcept nogil:
    """The entry of the key, or the free one where it belongs; NULL if there is no table."""
    cdef uint64_t i
    if table.entries == NULL:
        return NULL
    i = spread(key) >> 20 & table.mask
    while table.entries[i].key != 0 and table.entries[i].key != key:
        i = (i + 1) & table.mask
    return &table.entries[i]


cdef uint64_t get(Table *table, uint64_t key) noexcept nogil:
    cdef Entry *entry = find(table, key)
    return entry.value if entry != NULL and entry.key == key else 0


cdef bint set_entry(Table *table, uint64_t key, uint64_t value) noexcept nogil:
    cdef Table larger
    cdef uint64_t i
    cdef Entry *entry
    if table.entries == NULL or table.used * 2 > table.mask:
        larger.mask = 255 if table.entries == NULL else table.mask * 2 + 1
        larger.used = 0
        larger.entries = <Entry *>calloc(larger.mask + 1, sizeof(Entry))
        if larger.entries == NULL:
            return False
        if table.entries != NULL:
            for i in range(table.mask + 1):
                if table.entries[i].key != 0:
                    find(&larger, table.entries[i].key)[0] = table.entries[i]
                    larger.used += 1
            free(table.entries)
        table[0] = larger
    entry = find(table, key)
    if entry.key == 0:
        entry.key = key
        table.used += 1
    entry.value = value
    return True


cdef void remove(Table *table, uint64_t key) noexcept nogil:
    """Takes the key out, and moves what had to stand further on because of it."""
    cdef Entry *entry = find(table, key)
    cdef uint64_t hole, i
    cdef uint64_t home
    if entry == NULL or entry.key != key:
        return
    table.used -= 1
    hole = <uint64_t>(entry - table.entries)
    i = hole
    while True:
        table.entries[hole].key = 0
        while True:
            i = (i + 1) & table.mask
            if table.entries[i].key == 0:
                return
            home = spread(table.entries[i].key) >> 20 & table.mask
            if ((i - home) & table.mask) >= ((i - hole) & table.mask):
                break
        table.entries[hole] = table.entries[i]
        hole = i


cdef void clear(Table *table) noexcept nogil:
    free(table.entries)
    table.entries = NULL
    table.used = 0
    table.mask = 0


cdef Table modules       # namespaces of instrumented modules
cdef Table types         # address of a type: its number. Taken out when the type dies
cdef Table known_keys    # hash and kind of keys that have a name: EVERYBODY, or the thread that is defining it
cdef enum: EVERYBODY = 1
cdef Table serials       # address of an object that is part of a key: its serial. Taken out when the object dies
cdef uint64_t serial_count = 0
cdef uint32_t type_count = 0


# --- definitions ----------------------------------------------------------------------------------------------------

cdef extern from "Python.h":
    ctypedef struct PyThreadState
    PyThreadState *PyThreadState_Get()
    void PyThreadState_EnterTracing(PyThreadState *)
    void PyThreadState_LeaveTracing(PyThreadState *)


# --- exceptions of signal handlers ----------------------------------------------------------------------------------
#
# While Python code of ours runs in the program's threads, a signal handler of the program may run inside it, and raise.

cdef str our_directory = __file__.rpartition("recorder")[0]
cdef str library_directory = (sys.modules["threading"].__file__ or "").rpartition("threading")[0]


cdef bint is_ours(str file):
    # compiled code has the path by which it was compiled
    return file.startswith(our_directory) or (file.endswith((".pyx", ".pxi")) and "atomsan/" in file)


cdef bint is_of_library(str file):
    return file.startswith(library_directory) and "-packages" not in file


cpdef bint is_raised_by_program(error, function=None):
    """Whether an exception that came out of our code is the program's own; its traceback then starts after our frames.

    The code of `function` is ours, wherever it stands.
    """
    behind = traceback = error.__traceback__
    code = getattr(function, "__code__", None)
    while traceback is not None:
        if traceback.tb_frame.f_code is code or is_ours(traceback.tb_frame.f_code.co_filename):
            behind = traceback.tb_next
        traceback = traceback.tb_next
    # and behind what our code has called
    while behind is not None and is_of_library(behind.tb_frame.f_code.co_filename):
        behind = behind.tb_next
    if behind is None and isinstance(error, Exception) and type(error).__module__ == "builtins":
        return False
    error.__traceback__ = behind
    return True


cdef int raise_pending(void *argument) noexcept:
    cdef PyObject *error = <PyObject *>argument
    cdef PyObject *kind = <PyObject *>error.ob_type
    cdef PyObject *traceback = NULL
    shown = (<object>error).__traceback__
    if shown is not None:
        traceback = <PyObject *>shown
        Py_INCREF(traceback)
    Py_INCREF(kind)
    PyErr_Restore(kind, error, traceback)
    return -1


cpdef bint raise_in_program(error, function=None):
    """Raise what a signal handler raised inside our code in the program, as soon as that runs. False: it is ours."""
    if not is_raised_by_program(error, function):
        return False
    main = getattr(sys.modules["threading"], "_main_thread", None)
    if getattr(main, "_ident", None) == get_ident():
        Py_INCREF(<PyObject *>error)
        if Py_AddPendingCall(raise_pending, <void *><PyObject *>error) == 0:
            return True
        Py_DECREF(<PyObject *>error)
    # handlers run in the main thread: in another one, somebody has raised it there in just this way
    PyThreadState_SetAsyncExc(get_ident(), <PyObject *>(<PyObject *>error).ob_type)
    return True


cdef PyObject *call_hidden(object function, tuple arguments, bint *is_interrupted) noexcept:
    cdef PyObject *type = NULL
    cdef PyObject *value = NULL
    cdef PyObject *traceback = NULL
    cdef PyObject *result = NULL
    is_interrupted[0] = False
    PyErr_Fetch(&type, &value, &traceback)
    PyThreadState_EnterTracing(PyThreadState_Get())
    try:
        returned = function(*arguments)
        result = <PyObject *>returned
        Py_INCREF(result)
    except BaseException as error:
        try:
            is_interrupted[0] = raise_in_program(error, function)
        except BaseException:
            pass
    PyThreadState_LeaveTracing(PyThreadState_Get())
    PyErr_Restore(type, value, traceback)
    return result


cdef class LineFile:
    """Appends lines to a file that this process is going to share with forked ones, but that it alone writes to.

    A line is written with the GIL held: what is in the file is whole lines whenever another thread runs or forks. (The
    files of `memfd_create` have no lock of their own on the position: of two threads that write at once, one writes over
    what the other has written.) The program may close descriptors that it knows nothing of, and get the same number for
    a file of its own: what is written goes to our file, which is opened again by `path` if need be, or nowhere. A process
    that was forked does not write: what it defines are numbers of its own.
    """

    cdef int descriptor
    cdef bytes path
    cdef int process
    cdef FileIdentity identity
    cdef readonly uint64_t length
    """How many bytes were written."""

    def __cinit__(self, int descriptor, str path=None):
        self.path = None if path is None else encode_path(path)
        self.use(descriptor, 0)

    cdef void use(self, int descriptor, uint64_t length):
        self.descriptor, self.process, self.length = descriptor, getpid(), length
        self.identity = identity_of(descriptor)
        write_to_end(descriptor)

    def append(self, bytes line):
        cdef size_t written = 0
        cdef int again
        if getpid() != self.process:
            return
        if self.path is not None and not is_file(self.descriptor, self.identity):
            again = open_high(self.path)
            if is_file(again, self.identity):
                self.descriptor = again
            elif again >= 0:
                close_file(again)
        if is_file(self.descriptor, self.identity):
            written = write_all(self.descriptor, line, len(line))
            self.length += written
        if written < <size_t>len(line) and the_state.head != NULL:
            the_state.head.unsent += 1

    def move(self, int descriptor):
        """In a forked process: write to another file from now on, in which all that was written so far stands first."""
        cdef bytes known = b""
        if is_file(self.descriptor, self.identity):
            known = read_at(self.descriptor, self.length, 0)
            close_file(self.descriptor)
        self.path = None
        self.use(descriptor, 0)
        self.append(known)


cdef PyObject *call_hidden_again(object function, tuple arguments) noexcept:
    cdef PyObject *type = NULL
    cdef PyObject *value = NULL
    cdef PyObject *traceback = NULL
    cdef PyObject *result = NULL
    cdef list raised = []
    PyErr_Fetch(&type, &value, &traceback)
    PyThreadState_EnterTracing(PyThreadState_Get())
    while result == NULL and len(raised) < 5:
        try:
            returned = function(*arguments)
            result = <PyObject *>returned
            Py_INCREF(result)
        except BaseException as error:
            if not is_raised_by_program(error, function):
                break
            raised.append(error)
    # Only now: they would be raised in what is called again.
    for error in raised:
        try:
            raise_in_program(error, function)
        except BaseException:
            pass
    PyThreadState_LeaveTracing(PyThreadState_Get())
    PyErr_Restore(type, value, traceback)
    return result


# What is sent is in the reader's hands when `define` returns, and other threads run meanwhile. So a number is given to
# others only then: what they log with it comes after its definition. Two threads that meet something new at the same time
# both define it, and both use the number that was given to others first.

cdef void define(object message) noexcept:
    if send is None or not the_state.attached:
        return
    # what cannot be sent is shown without a name
    Py_XDECREF(call_hidden_again(send, (message,)))


cdef uint32_t name_number(object text) except 0:
    global name_count
    cdef uint64_t epoch
    cdef uint32_t number
    known = names.get(text)
    if known is not None:
        return known
    name_count += 1
    number = name_count
    while True:
        epoch = the_state.epoch
        define(["name", number, text, hash(text) & 0xFFFFFFFFFFFFFFFF])
        if the_state.epoch == epoch:  # else it may have gone to a reader before
            return names.setdefault(text, number)


cdef uint32_t known_name(object text) noexcept:
    try:
        return names.get(text, 0)
    except Exception:
        return 0


cdef void define_key(uint8_t key_kind, uint64_t hash, PyObject *key) noexcept:
    cdef uint64_t mixed = (hash ^ <uint64_t>key_kind << 56) | 1
    cdef uint64_t me = <uint64_t>this_thread()
    cdef uint64_t defined_by = get(&known_keys, mixed)
    if known_keys.used >= MOST_KEYS or defined_by == EVERYBODY or defined_by == me:
        return
    if not set_entry(&known_keys, mixed, me):
        return
    shown = "<key>"
    if not redact:
        shown = name_of_key(<object>key)
    define(["key", key_kind, hash, shown])
    if get(&known_keys, mixed):  # not another recording's by now
        set_entry(&known_keys, mixed, EVERYBODY)


cdef str name_of_key(object key):
    """What people call a key that is told apart. Library code may run for it, but no code of the program."""
    cdef bint is_interrupted
    cdef PyObject *result
    if type(key) in (str, bytes, int, float):
        return shortened(key)
    result = call_hidden(shown_key, (key,), &is_interrupted)
    if result == NULL:
        return "<key>"
    shown = <object>result
    Py_DECREF(result)
    return shown


cdef str shortened(object key):
    if isinstance(key, (str, bytes)) and len(key) > 60:
        key = key[:60]
    try:
        shown = repr(key)
    except ValueError:
        return "<number>"  # too long for int to str
    return shown if len(shown) <= 60 else shown[:57] + "..."


# --- the ring -------------------------------------------------------------------------------------------------------

cdef void set_on(bint on) noexcept nogil:
    the_state.on = on
    the_state.live = the_state.epoch if on else NOT_LIVE


cdef void switch_off() noexcept:
    set_on(False)
    the_state.attached = 0


cdef inline uint64_t reserve() noexcept:
    """Records that are kept free for those that must not wait."""
    return min(<uint64_t>SLACK, (the_state.mask + 1) // 4)


cdef inline void set_limits() noexcept:
    cdef State *s = &the_state
    s.hard_limit = s.head.tail + s.mask + 1
    s.limit = s.hard_limit - reserve()
    if s.limit > s.next + STRIDE:
        s.limit = s.next + STRIDE
    if s.limit > next_point:
        s.limit = next_point


cdef void flush_frees() noexcept:
    cdef size_t i
    cdef size_t count = waiting_count
    global waiting_count
    for i in range(count):
        if the_state.next >= the_state.hard_limit:
            break
        put(&the_state, waiting_frees[i], 0, 0, RAW_WORD(0, RAW_FREE, 0, 0))
        waiting_count -= 1
    else:
        return
    for i in range(waiting_count):
        waiting_frees[i] = waiting_frees[count - waiting_count + i]


cdef int make_room(uint64_t records, int may_wait) noexcept:
    """Room for so many records: asks the scheduler, looks where the reader is and what it wants. 0: do not log."""
    cdef State *s = &the_state
    cdef uint64_t waited = 0
    cdef uint64_t tail = s.head.tail if s.attached else 0
    cdef uint64_t epoch = s.epoch
    if not s.attached:
        return 0
    if s.head.stop:
        set_on(False)
        return 0
    if records > s.mask + 1 - reserve():
        s.head.lost = s.head.lost + 1
        return 0  # not even in an empty ring
    if may_wait and s.next >= next_point:
        ask_scheduler()
        if not s.on or s.epoch != epoch:
            return 0
    while True:
        set_limits()
        flush_frees()
        if waiting_count:
            s.limit = 0
        elif s.next + records <= s.limit:
            return 1
        elif s.hard_limit - s.next >= records + reserve():
            # Only the stride or the scheduler is narrower than what is asked for. The limit stays: the next thread that
            # comes here is not to miss its scheduling point.
            return 1
        if not may_wait:
            return not waiting_count and s.next + records <= s.hard_limit
        if not wait_for_reader(&waited, &tail):
            return 0
        if not s.on or s.epoch != epoch:
            return 0


cdef bint wait_for_reader(uint64_t *waited, uint64_t *tail) noexcept:
    """A short sleep. False if there is no reader any more. `waited`: nanoseconds since it took what is before `tail`."""
    cdef State *s = &the_state
    cdef RawHead *head = s.head
    cdef uint64_t epoch = s.epoch
    cdef uint64_t start, slept
    head.waiting = 1
    with nogil:
        start = now()
        sleep_for(200_000)
        slept = now() - start
    if not s.attached or s.epoch != epoch:
        return False
    head.waiting = 0
    if head.stop:
        set_on(False)
        return False
    waited[0] = waited[0] + min(slept, MOST_SLEPT) if head.tail == tail[0] else 0
    tail[0] = head.tail
    if waited[0] > <uint64_t>head.patience * 1_000_000 or not is_reader_there():
        head.lost = head.lost + 1
        switch_off()
        return False
    return True


cdef bint is_reader_there() noexcept:
    """Whether the process still lives that reads the log."""
    if reader_file is None:
        return getppid() == reader
    return is_locked(reader_file)


cdef void log_free_of_known(State *s, uint64_t address) noexcept:
    """RAW_FREE of an address that stands in the log. An object is being freed: must not wait or run code."""
    cdef uint64_t *larger
    global waiting_frees, waiting_count, waiting_capacity
    if notice_free != NULL:
        notice_free(address)
    if modules.used:
        remove(&modules, address)
    remove(&types, address)
    if serials.used:
        remove(&serials, address)
    if not s.attached:
        return
    if s.next < s.limit or (not waiting_count and make_room_in_reserve(s)):
        put(s, address, 0, 0, RAW_WORD(0, RAW_FREE, 0, 0))
        return
    if waiting_count == waiting_capacity:
        larger = <uint64_t *>realloc(waiting_frees, (waiting_capacity * 2 + 1024) * sizeof(uint64_t))
        if larger == NULL:
            s.head.lost = s.head.lost + 1
            switch_off()
            return
        waiting_frees = larger
        waiting_capacity = waiting_capacity * 2 + 1024
    waiting_frees[waiting_count] = address
    waiting_count += 1
    s.limit = 0  # the next probe comes to make_room, which writes them first


cdef bint make_room_in_reserve(State *s) noexcept:
    if s.next < s.hard_limit:
        return True
    s.hard_limit = s.head.tail + s.mask + 1
    return s.next < s.hard_limit


# --- scheduling points ----------------------------------------------------------------------------------------------

cdef void ask_scheduler() noexcept:
    """The running thread is at a scheduling point. Other threads may run, and may be here too."""
    global next_point
    cdef bint is_interrupted
    cdef uint64_t gap
    asked = ask
    if asked is None:
        return
    cdef PyObject *result = call_hidden(asked, (), &is_interrupted)
    if ask is not asked or is_interrupted:
        Py_XDECREF(result)
        return
    if result == NULL or not PyLong_Check(result):
        next_point = NEVER  # it failed: the program goes on without it
    else:
        gap = PyLong_AsUnsignedLongLongMask(result)
        next_point = the_state.next + gap if gap < NEVER - the_state.next else NEVER
    Py_XDECREF(result)


def set_scheduler(new):
    """This scheduler starts, and is asked at scheduling points from now on; the one before is done. None: nobody is."""
    global scheduler, ask, next_point
    before, scheduler, ask, next_point = scheduler, None, None, NEVER
    if before is not None:
        before.done()
    if new is None:
        return
    gap = new.start()
    scheduler, ask, next_point = new, new.point, the_state.next + <uint64_t>gap
    if the_state.limit > next_point:
        the_state.limit = next_point


# --- threads --------------------------------------------------------------------------------------------------------

cdef uint32_t new_thread(object name) except 0:
    global threads
    threads += 1
    number = threads
    kind = "thread"
    if isinstance(name, tuple):
        name, kind = name
    define(["thread", number, str(name), kind])
    return number


cdef Thread *enter_thread() noexcept:
    """The calling thread; registered, if it is the first time that it is seen in this recording."""
    cdef Thread *thread = this_thread()
    cdef PyObject *name
    if thread.epoch == the_state.epoch:
        return thread
    # First, because naming it can run code that comes here again.
    thread.epoch = the_state.epoch
    thread.live = 0
    thread.number = 0
    thread.site = 0
    name = call_hidden_again(thread_name, ())  # library code, in which a signal handler can raise
    if name == NULL:
        return thread
    try:
        number = new_thread(<object>name)
    except Exception:
        number = 0
    Py_DECREF(name)
    if number == 0:
        return thread
    if thread.epoch == the_state.epoch and thread.number == 0:
        thread.number = number
        thread.live = thread.epoch
        log_record(RAW_THREAD, 0, 0, 0, 0, 0)
        if notice_entered != NULL:
            notice_entered()
    return thread


def thread_name():
    # Not current_thread(): that makes an object for a thread that has none.
    known = sys.modules["threading"]._active.get(get_ident())
    return known.name if known is not None else f"thread {get_ident()}"


cdef uint32_t current_thread() noexcept:
    return enter_thread().number if the_state.on else 0


cdef void set_current_thread(uint32_t number) noexcept:
    cdef Thread *thread = this_thread()
    if thread.epoch != the_state.epoch:
        thread.site = 0
    thread.epoch = the_state.epoch
    thread.live = thread.epoch if number else 0
    thread.number = number


cdef const void *set_base(const void *frame) noexcept:
    cdef Thread *thread = this_thread()
    cdef const void *before = thread.base
    thread.base = frame
    return before


cdef Thread *thread_here() noexcept:
    return this_thread()


cdef uint32_t current_site() noexcept:
    cdef Thread *thread = this_thread()
    return thread.site if thread.epoch == the_state.epoch else 0


ctypedef uint32_t (*FindSite)() noexcept
cdef FindSite find_call_site = NULL


cdef void on_call_site(uint32_t (*find)() noexcept) noexcept:
    global find_call_site
    find_call_site = find


cdef uint32_t call_site() noexcept:
    return find_call_site() if the_state.on and find_call_site != NULL else 0


# --- records --------------------------------------------------------------------------------------------------------

cpdef bint is_recording() noexcept:
    """Whether accesses are logged at present."""
    return the_state.on != 0


cdef void log_record(uint8_t op, uint8_t key_kind, uint16_t flags, uint64_t obj, uint64_t key, uint32_t site) noexcept:
    cdef Thread *thread
    if not the_state.on:
        return
    thread = enter_thread()
    if thread.number == 0 or not has_room(&the_state, 1):
        return
    if obj:
        mark_seen(&the_state, obj)
    put(&the_state, obj, key, RAW_WHAT(0, site), RAW_WORD(thread.number, op, key_kind, flags))


cdef void log_held(
    uint8_t op, uint16_t flags, uint64_t primitive, uint64_t key, uint32_t call, uint32_t site, bint has_happened
) noexcept:
    cdef Thread *thread
    cdef State *s = &the_state
    if not s.on:
        return
    thread = enter_thread()
    if thread.number == 0:
        return
    if has_happened:
        if s.next >= s.limit and not make_room(1, 0) and not make_room(1, 1):
            return
    elif not has_room(s, 1):
        return
    mark_seen(s, primitive)
    put(s, primitive, key, RAW_WHAT(call, site), RAW_WORD(thread.number, op, KEY_STRUCTURE, flags))


cdef void log_after(uint8_t op, uint8_t key_kind, uint16_t flags, uint64_t obj, uint64_t key, uint32_t site) noexcept:
    cdef Thread *thread
    cdef State *s = &the_state
    if not s.on:
        return
    thread = enter_thread()
    if thread.number == 0:
        return
    if s.next >= s.limit and not make_room(1, 0) and not make_room(1, 1):
        return
    if obj:
        mark_seen(s, obj)
    put(s, obj, key, RAW_WHAT(0, site), RAW_WORD(thread.number, op, key_kind, flags))
    has_room(s, 1)


cdef void log_free(uint64_t address) noexcept:
    log_dealloc(<PyObject *><uintptr_t>address)


# --- types ----------------------------------------------------------------------------------------------------------

class _Sample:
    """Has the deallocator that every class of a program has."""

cdef destructor class_dealloc = (<_TypeObject *>_Sample).tp_dealloc


cdef uint32_t type_number(PyObject *obj) noexcept:
    return number_of_type(<PyObject *>obj.ob_type)


cdef uint32_t number_of_type(PyObject *type) noexcept:
    cdef uint32_t number
    if not the_state.attached:
        return 0
    number = <uint32_t>get(&types, <uint64_t>type)
    if number:
        return number
    return new_type(type)


cdef uint32_t known_type(PyObject *type) noexcept:
    return <uint32_t>get(&types, <uint64_t>type) if the_state.attached else 0


cdef uint64_t serial_of(PyObject *obj, bint may_define) noexcept:
    global serial_count
    cdef uint64_t serial = get(&serials, <uint64_t>obj)
    cdef PyObject *type = <PyObject *>obj.ob_type
    if serial:
        return serial
    # whoever is no more must be taken out of the table, so deaths of this type have to be seen
    if not (number_of_type(type) if may_define else known_type(type)):
        return 0
    serial = get(&serials, <uint64_t>obj)
    if serial:
        return serial  # another thread came meanwhile
    serial_count += 1
    if not set_entry(&serials, <uint64_t>obj, serial_count):
        return 0
    mark_seen(&the_state, <uint64_t>obj)
    return serial_count


cdef uint32_t new_type(PyObject *type) noexcept:
    global type_count
    cdef _TypeObject *base = <_TypeObject *>type
    cdef PyObject *error_type = NULL
    cdef PyObject *error = NULL
    cdef PyObject *traceback = NULL
    cdef uint64_t epoch
    cdef uint32_t number, known
    while base != NULL and base.tp_dealloc == class_dealloc:
        base = <_TypeObject *>base.tp_base
    if base == NULL or not hook_type(<PyTypeObject *>base, 0):
        return 0
    type_count += 1
    number = type_count
    PyErr_Fetch(&error_type, &error, &traceback)
    while True:
        epoch = the_state.epoch
        try:
            define(type_message(number, <object>type))
        except Exception:
            pass
        if the_state.epoch == epoch:  # else it may have gone to a reader before
            break
    PyErr_Restore(error_type, error, traceback)
    known = <uint32_t>get(&types, <uint64_t>type)
    if known:
        return known
    # A type that dies takes its number with it: its address can be that of the next.
    mark_seen(&the_state, <uint64_t>type)
    return number if set_entry(&types, <uint64_t>type, number) else 0


cdef list type_message(uint32_t number, object cls):
    # Not by attributes: a metaclass could run code of the program.
    module = type.__dict__["__module__"].__get__(cls)
    qualname = type.__dict__["__qualname__"].__get__(cls)
    mro = type.__dict__["__mro__"].__get__(cls)
    bases = [type.__dict__["__qualname__"].__get__(base) for base in mro[1 : len(mro) - 1]]
    return ["type", number, module if isinstance(module, str) else "", qualname, *([bases] if bases else [])]


# --- sites ----------------------------------------------------------------------------------------------------------

cdef class SiteNumbers:
    """Gives out the numbers of sites. To take some is one step, whichever threads do it."""

    cdef uint32_t next

    def __cinit__(self):
        self.next = 1

    def take(self, uint32_t count):
        """The first of so many numbers in a row."""
        cdef uint32_t first = self.next
        self.next += count
        return first


# --- instrumented modules -------------------------------------------------------------------------------------------

cdef bint is_instrumented_namespace(PyObject *namespace) noexcept:
    return namespace != NULL and modules.used != 0 and get(&modules, <uint64_t>namespace) != 0


cdef bint called_from_instrumented_code() noexcept:
    return is_instrumented_namespace(PyEval_GetGlobals())


# --- called from Python ---------------------------------------------------------------------------------------------

cdef State *state() noexcept:
    return &the_state


def make_ring(memory):
    """Initialise the head of a ring for the size of this writable memory."""
    cdef Py_buffer view
    cdef RawHead *head
    cdef uint64_t capacity = 1
    PyObject_GetBuffer(memory, &view, PyBUF_WRITABLE)
    try:
        if view.len < RAW_HEAD_BYTES + 4 * <Py_ssize_t>sizeof(RawRecord):
            raise ValueError("too little memory for a ring")
        while RAW_HEAD_BYTES + 2 * capacity * sizeof(RawRecord) <= <uint64_t>view.len:
            capacity *= 2
        head = <RawHead *>view.buf
        memset(head, 0, RAW_HEAD_BYTES)
        head.capacity = capacity
        head.magic = RAW_MAGIC
    finally:
        PyBuffer_Release(&view)


def map_ring(descriptor, size):
    """The memory of a ring in a file, until the process ends. Unlike `mmap.mmap`, keeps no descriptor open."""
    return mapped(descriptor, size)


def attach(memory, definitions, *, redact_keys=False, locked_by_reader=None):
    """From now on probes write to this ring, which `make_ring` has initialised, and send their definitions.

    As long as its reader lives, it holds the lock of the file `locked_by_reader`; without one, it is the parent process.
    """
    global has_buffer, send, redact, paused, reader, reader_file, waiting_count
    cdef RawHead *head
    cdef State *s = &the_state
    if s.attached:
        raise RuntimeError("this process is being recorded already")
    release_buffer()
    PyObject_GetBuffer(memory, &buffer, PyBUF_WRITABLE)
    head = <RawHead *>buffer.buf
    if buffer.len < RAW_HEAD_BYTES or head.magic != RAW_MAGIC:
        PyBuffer_Release(&buffer)
        raise ValueError("not a ring")
    has_buffer = True
    if s.seen == NULL:
        s.seen = <uint32_t *>calloc(SEEN_SLOTS, sizeof(uint32_t))
        if s.seen == NULL:
            raise MemoryError
    else:
        memset(s.seen, 0, SEEN_SLOTS * sizeof(uint32_t))
    s.head = head
    s.records = <RawRecord *>(<char *>buffer.buf + RAW_HEAD_BYTES)
    s.mask = head.capacity - 1
    s.next = head.head
    s.epoch += 1
    waiting_count = 0
    if not head.patience:
        head.patience = head_of_parent.patience if head_of_parent != NULL else PATIENCE
    reader = getppid()
    reader_file = None if locked_by_reader is None else encode_path(locked_by_reader)
    send = definitions
    redact = redact_keys
    paused = False
    clear(&known_keys)
    clear(&serials)
    s.attached = 1
    s.watching = 1
    set_limits()
    watch_builtins()
    if forget_types != NULL:
        forget_types()
    annotated.clear()
    for text, number in list(names.items()):
        define(["name", number, text, hash(text) & 0xFFFFFFFFFFFFFFFF])
    for address, text in list(namespaces.items()):
        if get(&modules, address):
            define(["module_name", address, text])
            mark_seen(s, address)
        else:
            del namespaces[address]
    kept.clear()
    set_on(True)


cdef watch_builtins():
    """The deaths of these are seen from the start: what the program makes of them can be in the log at any time."""
    rehook_types()
    import array
    import collections
    import types as kinds
    nesting = (list, dict, set, collections.deque, collections.defaultdict, collections.OrderedDict)
    for kind in nesting:
        hook_type(<PyTypeObject *>kind, 1)
    for kind in (object, bytearray, array.array, kinds.SimpleNamespace, kinds.FunctionType, type):
        hook_type(<PyTypeObject *>kind, 0)


cdef void on_attach(void (*forget)() noexcept) noexcept:
    global forget_types
    forget_types = forget


cdef void on_entered(void (*notice)() noexcept) noexcept:
    global notice_entered
    notice_entered = notice


cdef void on_free(void (*notice)(uint64_t address) noexcept) noexcept:
    global notice_free
    notice_free = notice


cdef keep_namespaces():
    cdef uint64_t i
    for i in range(modules.mask + 1 if modules.entries != NULL else 0):
        if modules.entries[i].key:
            kept.append(<object><PyObject *><uintptr_t>modules.entries[i].key)


cdef void release_buffer() noexcept:
    global has_buffer
    if has_buffer:
        PyBuffer_Release(&buffer)
        has_buffer = False


def detach():
    """Stop logging; everything that was patched is as it was."""
    global send
    cdef State *s = &the_state
    if s.head != NULL and has_buffer:
        if s.attached:
            set_limits()
            flush_frees()
        s.head.closed = 1
    if s.watching:
        keep_namespaces()
    switch_off()
    s.watching = 0
    clear(&types)
    unhook_types()
    send = None
    s.head = NULL
    release_buffer()


def pause():
    """Log no accesses for a while; the deaths of objects still are, so that identities hold."""
    global paused
    paused = True
    set_on(False)


def resume():
    """Go on after a pause."""
    global paused
    if paused and the_state.attached and not the_state.head.stop:
        set_on(True)
    paused = False


cdef void name_namespace(uint64_t address, object name) noexcept:
    if the_state.seen != NULL:
        mark_seen(&the_state, address)
    if isinstance(name, str):
        define(["module_name", address, name])
        namespaces[address] = name


def register_module(namespace, name=None):
    """Code with these globals is instrumented; `name` is what its module is called."""
    if not isinstance(namespace, dict):
        raise TypeError("the globals of a module are a dict")
    address = <uint64_t><PyObject *>namespace
    if name is None:
        name = namespace.get("__name__")
    if the_state.watching and get(&modules, address) and namespaces.get(address) == name:
        return  # it is known: `exec` comes here each time
    name_namespace(address, name)
    set_entry(&modules, address, 1)
    if not the_state.watching:
        kept.append(namespace)


cdef dict annotated = {}
cdef uint64_t annotated_count = 0


def begin_annotated(name):
    """A block that the user marked begins: `with atomsan.atomic(name)`."""
    global annotated_count
    cdef uint64_t number, epoch = the_state.epoch
    if not the_state.on:
        return
    if name not in annotated:
        annotated_count += 1
        number = annotated_count
        define(["region", number, name])
        if the_state.epoch != epoch:
            return
        annotated.setdefault(name, number)
    number = annotated[name]
    log_record(RAW_REGION, 0, 0, 0, number, current_site())


def end_annotated(name):
    """And ends. One that began before anybody recorded is not known."""
    cdef uint64_t number
    if the_state.on and name in annotated:
        number = annotated[name]
        log_record(RAW_REGION_END, 0, 0, 0, number, current_site())


def note_unfollowed():
    """This process was forked, and its parent is recorded, but it cannot be: tell the reader."""
    if head_of_parent != NULL:
        add_one(&head_of_parent.unfollowed)


cdef void in_child() noexcept nogil:
    """After a fork the ring is the parent's, and the child writes nothing to it but `unfollowed`."""
    global head_of_parent
    head_of_parent = the_state.head
    set_on(False)
    the_state.attached = 0
    the_state.head = NULL


the_state.live = NOT_LIVE
the_state.make_room = make_room
the_state.enter = enter_thread
free_state = &the_state
log_known_free = log_free_of_known
watch_forks(in_child)
