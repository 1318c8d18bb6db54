"""The log of the recorded process, for the modules that write to it. All functions want the GIL held."""

from cpython.object cimport PyObject
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from atomsan.recorder.python._writer cimport State, Thread

cpdef bint is_recording() noexcept
# The running thread or task; a thread that nobody forked is registered when it first asks. 0: it is not recorded.
cdef uint32_t current_thread() noexcept
# From now on this OS thread runs that thread or task (asyncio steps, thread start). 0: nothing is logged for it.
cdef void set_current_thread(uint32_t number) noexcept
# A task's step is run by this frame: it and those below are no callers of what the task calls. NULL: there is no such
# frame. Gives the one before.
cdef const void *set_base(const void *frame) noexcept
# A number for a thread or task that is about to start; its name is defined with it. `name` is a text, or a pair of the
# name and the kind ("thread" or "task"). Whoever starts it logs its RAW_THREAD; only a thread that was registered
# because it asked has that logged for it.
cdef uint32_t new_thread(object name) except 0
# The site of the last probe that ran on this OS thread.
cdef uint32_t current_site() noexcept
# The site of the call that recorded code makes on this OS thread, also where it is a library that runs. 0: there is none.
# May let other threads run.
cdef uint32_t call_site() noexcept
# Who finds it.
cdef void on_call_site(uint32_t (*find)() noexcept) noexcept
# One record of the running thread. Waits for room first if need be, with the GIL released, so: log, then act (or act,
# then log) with nothing between that could let another thread run.
cdef void log_record(uint8_t op, uint8_t key_kind, uint16_t flags, uint64_t obj, uint64_t key, uint32_t site) noexcept
# The same for an access of what a primitive holds (FLAG_QUEUE, FLAG_STATE), which has the site of the call. What has
# happened already takes from the reserve, and another record follows, which waits.
cdef void log_held(
    uint8_t op, uint16_t flags, uint64_t primitive, uint64_t key, uint32_t call, uint32_t site, bint has_happened
) noexcept
# The same, for what has happened already: takes from the reserve and waits afterwards.
cdef void log_after(uint8_t op, uint8_t key_kind, uint16_t flags, uint64_t obj, uint64_t key, uint32_t site) noexcept
# The object at this address is dying. Never waits. For types whose own deallocator calls it.
cdef void log_free(uint64_t address) noexcept
# The number of a type, defined when first asked for; from then on the death of its instances is logged as RAW_FREE.
# 0: it cannot be watched, so nothing of it must be logged.
cdef uint32_t type_number(PyObject *obj) noexcept
# The same for a type itself.
cdef uint32_t number_of_type(PyObject *type) noexcept
# The same for a type that has a number already; else 0.
cdef uint32_t known_type(PyObject *type) noexcept
# A number that no other object has or will have, for an object that is told apart by its identity, as a part of a key.
# 0: its death cannot be seen, or its type has no number yet and none may be defined now.
cdef uint64_t serial_of(PyObject *obj, bint may_define) noexcept
# Whether the code that is running (the innermost Python frame) is instrumented.
cdef bint called_from_instrumented_code() noexcept
# Whether this dictionary is the namespace of an instrumented module.
cdef bint is_instrumented_namespace(PyObject *namespace) noexcept
# A message for the reader. Swallows errors. May let other threads run.
cdef void define(object message) noexcept
# Whether an exception that came out of our code is the program's, of a signal handler say; it is raised there then.
cpdef bint raise_in_program(error, function=*)
# Calls a Python function of ours from a hook: no debugger sees its frames, and an error that is set stays set. A new
# reference, or NULL without an error if it raised. `is_interrupted`: a signal handler raised, see `raise_in_program`.
cdef PyObject *call_hidden(object function, tuple arguments, bint *is_interrupted) noexcept
# The same, and again if a signal handler came between.
cdef PyObject *call_hidden_again(object function, tuple arguments) noexcept
# The number of a name for KEY_FIELD.
cdef uint32_t name_number(object text) except 0
# Makes sure that the reader knows what to call a key of KEY_HASH or KEY_NUMBER. May let other threads run.
cdef void define_key(uint8_t key_kind, uint64_t hash, PyObject *key) noexcept

# The number that a name has been given; 0: none.
cdef uint32_t known_name(object text) noexcept
# Names of modules by the address of their namespace.
cdef dict namespaces
cdef void name_namespace(uint64_t address, object name) noexcept

# Called at each attachment: numbers of types do not last longer than a recording.
cdef void on_attach(void (*forget)() noexcept) noexcept
# Called by an OS thread that is seen for the first time in a recording. NULL: nobody is.
cdef void on_entered(void (*notice)() noexcept) noexcept
# Called with the address of each object that stands in the log and dies: must not wait or run code. NULL: nobody is.
cdef void on_free(void (*notice)(uint64_t address) noexcept) noexcept

cdef State *state() noexcept
cdef Thread *thread_here() noexcept
