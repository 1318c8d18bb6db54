# Locks: acquire, release and `with` blocks of _thread.lock and _thread.RLock

cdef void watch(PyObject *primitive) noexcept:
    cdef Primitive *entry = add(primitive)
    if entry != NULL:
        entry.kind = KIND_LOCK
        entry.is_watched = True
        entry.home = <uintptr_t>PyEval_GetGlobals()


cdef bint is_lock(PyObject *obj) noexcept:
    return lock_type != NULL and (Py_TYPE(obj) == lock_type or PyObject_TypeCheck(obj, rlock_type))


cdef bint is_held(PyObject *lock) noexcept:
    """Whether the running thread may release it."""
    cdef PyObject *answer
    if Py_TYPE(lock) == lock_type:
        answer = original_locked(lock, NULL)
    elif PyObject_TypeCheck(lock, rlock_type):
        answer = original_is_owned(lock, NULL)
    elif kind_of_green(lock) != KIND_GREEN_SEMAPHORE:
        return is_green_held(lock, kind_of_green(lock))
    else:
        return True
    Py_XDECREF(answer)
    return answer == Py_True


cdef void log_acquired(PyObject *lock, int count) noexcept:
    cdef Primitive *entry = find(lock)
    cdef uint16_t flags = 0
    if entry == NULL:
        return
    entry.depth += count
    if Py_TYPE(lock) != lock_type and rlock_type != NULL and PyObject_TypeCheck(lock, rlock_type):
        flags = FLAG_REENTRANT
    elif entry.kind == KIND_GREEN_RLOCK:
        flags = FLAG_REENTRANT
    record_after(RAW_ACQUIRE, KEY_NONE, flags, <uintptr_t>lock, count, current_site())
    if entry.is_asked:
        log_state(RAW_WRITE, lock, OF_LOCK)


cdef void log_released(PyObject *lock, int how_many) noexcept:
    """Before a release that cannot fail. `how_many` is 0 for all of them."""
    cdef Primitive *entry = find(lock)
    cdef PyObject *count
    if entry == NULL:
        return
    if entry.depth <= 0:
        entry.depth = 1
        if rlock_type != NULL and PyObject_TypeCheck(lock, rlock_type):
            count = original_recursion_count(lock, NULL)
            if count != NULL:
                entry.depth = PyLong_AsLong(count)
                Py_DECREF(count)
        record(RAW_HELD, KEY_NONE, 0, <uintptr_t>lock, entry.depth, 0)
        entry = find(lock)
        if entry == NULL:
            return
    entry.depth = 0 if how_many == 0 else entry.depth - how_many
    record(RAW_RELEASE, KEY_NONE, 0, <uintptr_t>lock, how_many, current_site())


cdef bint log_block(PyObject *lock) noexcept:
    """Before a `with` statement of the program acquires: the site is remembered for the end of the block."""
    cdef Primitive *entry = find(lock)
    cdef Block *block
    cdef uint32_t site = current_site()
    if site == 0 or entry == NULL or not (entering == lock or called_from_instrumented_code()):
        return False
    block = <Block *>calloc(1, sizeof(Block))
    if block == NULL:
        return False
    block.thread = thread_here()
    block.site = site
    block.outer = entry.blocks
    entry.blocks = block
    record(RAW_BLOCK, KEY_NONE, 0, <uintptr_t>lock, 0, site)
    return True


cdef void log_block_end(PyObject *lock) noexcept:
    cdef Primitive *entry = find(lock)
    cdef Block **place
    cdef Block *block
    cdef uint32_t thread, site
    if entry == NULL or entry.blocks == NULL:
        return
    thread = thread_here()
    place = &entry.blocks
    while place[0] != NULL and place[0].thread != thread:
        place = &place[0].outer
    block = place[0]
    if block == NULL:
        return
    site = block.site
    place[0] = block.outer
    free(block)
    record_after(RAW_BLOCK_END, KEY_NONE, 0, <uintptr_t>lock, 0, site)


cdef PyObject *acquire_with(PyObject *lock, PyObject *args, PyObject *kwargs, KeywordsFunction original) noexcept:
    cdef bint watched = is_watched_object(lock, KIND_LOCK)
    cdef PyObject *result = original(lock, args, kwargs)
    if watched and result == Py_True:
        log_acquired(lock, 1)
    return result


cdef PyObject *enter_with(PyObject *lock, PyObject *args, PyObject *kwargs, KeywordsFunction original) noexcept:
    cdef bint watched = is_watched_object(lock, KIND_LOCK)
    cdef bint has_block = watched and log_block(lock)
    cdef PyObject *result = original(lock, args, kwargs)
    if watched and result == Py_True:
        log_acquired(lock, 1)
    elif has_block:
        log_block_end(lock)
    return result


cdef PyObject *release_with(PyObject *lock, PyObject *ignored, PlainFunction original) noexcept:
    if is_watched_object(lock, KIND_LOCK) and is_held(lock):
        log_released(lock, 1)
    return original(lock, ignored)


cdef PyObject *exit_with(PyObject *lock, PyObject *args, PlainFunction original) noexcept:
    cdef bint watched = is_watched_object(lock, KIND_LOCK) and is_held(lock)
    cdef PyObject *result
    if watched:
        log_released(lock, 1)
    result = original(lock, args)
    if watched:
        log_block_end(lock)
    return result


cdef PyObject *lock_acquire(PyObject *lock, PyObject *args, PyObject *kwargs) noexcept:
    return acquire_with(lock, args, kwargs, original_acquire)


cdef PyObject *lock_enter(PyObject *lock, PyObject *args, PyObject *kwargs) noexcept:
    return enter_with(lock, args, kwargs, original_acquire)


cdef PyObject *lock_release(PyObject *lock, PyObject *ignored) noexcept:
    return release_with(lock, ignored, original_release)


cdef PyObject *lock_exit(PyObject *lock, PyObject *args) noexcept:
    return exit_with(lock, args, original_exit)


cdef PyObject *rlock_acquire(PyObject *lock, PyObject *args, PyObject *kwargs) noexcept:
    return acquire_with(lock, args, kwargs, original_rlock_acquire)


cdef PyObject *rlock_enter(PyObject *lock, PyObject *args, PyObject *kwargs) noexcept:
    return enter_with(lock, args, kwargs, original_rlock_acquire)


cdef PyObject *rlock_release(PyObject *lock, PyObject *ignored) noexcept:
    return release_with(lock, ignored, original_rlock_release)


cdef PyObject *rlock_exit(PyObject *lock, PyObject *args) noexcept:
    return exit_with(lock, args, original_rlock_exit)


cdef PyObject *rlock_release_save(PyObject *lock, PyObject *ignored) noexcept:
    if is_watched_object(lock, KIND_LOCK) and is_held(lock):
        log_released(lock, 0)
    return original_release_save(lock, ignored)


cdef PyObject *rlock_acquire_restore(PyObject *lock, PyObject *args) noexcept:
    cdef bint watched = is_watched_object(lock, KIND_LOCK)
    cdef PyObject *state
    cdef PyObject *result = original_acquire_restore(lock, args)
    if watched and result != NULL:
        # The original has parsed them: args is ((count, owner),).
        state = PyTuple_GET_ITEM(args, 0)
        log_acquired(lock, PyLong_AsLong(PyTuple_GET_ITEM(state, 0)))
    return result


cdef PyObject *allocate_lock(PyObject *module, PyObject *ignored) noexcept:
    cdef PyObject *lock = original_allocate(module, ignored)
    watch_new(lock, KIND_LOCK)
    return lock


cdef PyObject *lock_new(PyTypeObject *kind, PyObject *args, PyObject *kwargs) noexcept:
    cdef PyObject *lock = original_lock_new(kind, args, kwargs)
    watch_new(lock, KIND_LOCK)
    return lock


cdef PyObject *rlock_new(PyTypeObject *kind, PyObject *args, PyObject *kwargs) noexcept:
    cdef PyObject *lock = original_rlock_new(kind, args, kwargs)
    watch_new(lock, KIND_LOCK)
    return lock


cdef void lock_dealloc(PyObject *lock) noexcept:
    forget_freed(lock)
    original_lock_dealloc(lock)


cdef void rlock_dealloc(PyObject *lock) noexcept:
    forget_freed(lock)
    original_rlock_dealloc(lock)
