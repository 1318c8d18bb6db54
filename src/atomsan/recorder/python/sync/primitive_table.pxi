# State of primitives, futures, threads and tasks: a hash table by address. An entry leaves when its object is freed.

cdef struct Block:
    uint32_t thread
    uint32_t site
    Block *outer

# What an operation notes of itself while it runs, of a greenlet that does not run.
cdef struct Kept:
    PyObject *entering
    PyObject *in_queue
    PyObject *sizing
    PyObject *used_future
    PyObject *running_task
    PyObject *cause
    PyObject *empty_waker
    PyObject *green_op
    unsigned long put_since
    unsigned long waits
    long workers
    const void *base
    int get_mode
    int last_taken
    uint32_t number
    uint32_t site
    bint in_callback
    bint ordered


cdef struct Primitive:
    uintptr_t address
    Primitive *next         # of the same bucket
    PyObject *ref           # a weak reference with `_forget` as its callback; NULL for objects of C types
    uintptr_t home          # the globals of the code that made it, or was the first that used it
    uintptr_t target        # of an entry that stands for a weak reference: the object it refers to
    Block *blocks           # the `with` blocks on this lock that are open or waiting for it
    Kept *kept              # of a greenlet that does not run: what the operations that it is in have noted
    uintptr_t ends_with     # of a greenlet: the thread object that it runs
    uintptr_t group         # of a greenlet: the pool that it is of
    uintptr_t mapped_by     # of what goes over results: the pool whose greenlets make them
    uint32_t number         # of a thread, task or greenlet
    uint32_t taker          # of a future or task that is done: the thread that took it last, and need not again
    uint32_t posted         # hand-overs to the loop of this callback that it has not taken yet
    int depth               # of a lock: acquires that are in the log and not released yet
    uint32_t named_in       # the trace in which its name was logged, or was not found
    uint8_t looks           # how often its name was looked for
    uint8_t kind
    bint is_watched
    bint is_asked                  # of a lock or thread: somebody has asked for its state
    bint has_started, has_ended    # of a thread or task
    bint was_forked                # of a greenlet: who started it is in the log
    bint awaits_child              # of a greenlet: it runs another one that it is the parent of, until that switches back
    bint was_notified              # of a task: the wait it is in was notified

cdef Primitive **buckets = NULL
cdef size_t bucket_count = 0
cdef size_t primitive_count = 0


cdef inline size_t bucket_of(uintptr_t address) noexcept:
    return ((address >> 4) * <size_t>0x9E3779B97F4A7C15) >> 20 & (bucket_count - 1)


cdef inline Primitive *find(void *address) noexcept:
    cdef Primitive *entry
    if primitive_count == 0:
        return NULL
    entry = buckets[bucket_of(<uintptr_t>address)]
    while entry != NULL and entry.address != <uintptr_t>address:
        entry = entry.next
    return entry


cdef void grow() noexcept:
    global buckets, bucket_count
    cdef size_t old_count = bucket_count, i
    cdef Primitive **old = buckets
    cdef Primitive *entry
    cdef Primitive *following
    cdef Primitive **larger = <Primitive **>calloc(max(old_count * 2, <size_t>1024), sizeof(Primitive *))
    if larger == NULL:
        return
    buckets = larger
    bucket_count = max(old_count * 2, <size_t>1024)
    for i in range(old_count):
        entry = old[i]
        while entry != NULL:
            following = entry.next
            entry.next = buckets[bucket_of(entry.address)]
            buckets[bucket_of(entry.address)] = entry
            entry = following
    free(old)


cdef Primitive *add(void *address) noexcept:
    """The entry of this address, new if need be; NULL when memory is short: then it is not watched."""
    global primitive_count
    cdef Primitive *entry = find(address)
    if entry != NULL:
        return entry
    if primitive_count >= bucket_count:
        grow()
    if bucket_count == 0:
        return NULL
    entry = <Primitive *>calloc(1, sizeof(Primitive))
    if entry == NULL:
        return NULL
    entry.address = <uintptr_t>address
    entry.next = buckets[bucket_of(entry.address)]
    buckets[bucket_of(entry.address)] = entry
    primitive_count += 1
    return entry


cdef PyObject *drop(void *address) noexcept:
    """Forgets the entry; returns its weak reference, to be released by the caller once nothing is half done."""
    global primitive_count
    cdef Primitive **place
    cdef Primitive *entry
    cdef Block *block
    cdef PyObject *ref
    if primitive_count == 0:
        return NULL
    place = &buckets[bucket_of(<uintptr_t>address)]
    while place[0] != NULL and place[0].address != <uintptr_t>address:
        place = &place[0].next
    entry = place[0]
    if entry == NULL:
        return NULL
    place[0] = entry.next
    primitive_count -= 1
    while entry.blocks != NULL:
        block = entry.blocks
        entry.blocks = block.outer
        free(block)
    ref = entry.ref
    free(entry.kept)
    free(entry)
    return ref


cdef void forget_freed(void *address) noexcept:
    """An object of a C type that is being deallocated."""
    if primitive_count and find(address) != NULL:
        drop(address)
        log_free(<uintptr_t>address)


cdef PyObject *forget(PyObject *unused, PyObject *ref) noexcept:
    """The callback of the weak references: called before the object's memory is given back."""
    cdef Primitive *entry = find(ref)
    cdef uintptr_t target
    if entry != NULL:
        target = entry.target
        drop(ref)
        log_free(target)
        Py_XDECREF(drop(<void *>target))
    Py_INCREF(Py_None)
    return Py_None


cdef PyMethodDef forget_definition
forget_definition.ml_name = b"forget"
forget_definition.ml_meth = <void *>forget
forget_definition.ml_flags = METH_O
forget_definition.ml_doc = NULL
cdef PyObject *forget_callback = PyCFunction_New(&forget_definition, NULL)


cdef Primitive *track(PyObject *primitive) noexcept:
    """The entry of an object, new if need be: it leaves the table, and RAW_FREE is logged, when the object dies."""
    cdef Primitive *entry = find(primitive)
    cdef PyObject *ref
    if entry != NULL and entry.ref != NULL:
        return entry
    # First the reference: making it can start a garbage collection, in which entries leave.
    ref = PyWeakref_NewRef(primitive, forget_callback)
    if ref == NULL:
        PyErr_Clear()
        return add(primitive)
    entry = add(ref)
    if entry != NULL:
        entry.target = <uintptr_t>primitive
    entry = add(primitive)
    if entry == NULL:
        drop(ref)
        Py_DECREF(ref)
    else:
        entry.ref = ref
    return entry


def forget_all() -> None:
    """Nothing is watched any more, and nothing that a watched primitive did counts for the next recording."""
    cdef size_t i
    cdef list references = []
    cdef PyObject *ref
    for i in range(bucket_count):
        while buckets[i] != NULL:
            ref = drop(<void *>buckets[i].address)
            if ref != NULL:
                references.append(<object>ref)
                Py_DECREF(ref)
    # They die here, with their callbacks, when the table knows them no more.
    references.clear()
    _said_of_each.clear()
