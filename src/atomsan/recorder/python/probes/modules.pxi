# Accesses to globals of a module from outside: module.name

cdef dict shared_names = {}     # by name of the module: those of its globals that functions write
cdef set written_outside = set()


cdef bint reads_are_logged(PyObject *module, PyObject *name) noexcept:
    cdef PyObject *names = PyModule_GetDict(module)
    cdef PyObject *saved[3]
    cdef bint answer = False
    if names == NULL:
        return False
    if not written_outside and not _log.is_instrumented_namespace(names):
        return False
    keep_error(saved)
    try:
        if _log.is_instrumented_namespace(names):
            module_name = _log.namespaces.get(<uint64_t>names)
            answer = <object>name in shared_names.get(module_name, ())
        if not answer and written_outside:
            answer = (<uint64_t>names, <object>name) in written_outside
    except Exception:
        pass
    restore_error(saved)
    return answer


cdef void log_module(Probe *probe, PyObject *module, uint32_t op) noexcept:
    cdef PyObject *names = PyModule_GetDict(module)
    cdef PyObject *saved[3]
    cdef Thread *thread
    if names == NULL:
        return
    if op == RAW_WRITE:
        keep_error(saved)
        try:
            note_written(<uint64_t>names, <object>names, <object>probe.name)
        except Exception:
            pass
        restore_error(saved)
    thread = ready(probe.site, 1)
    if thread != NULL:
        log_at(thread, probe, op, KEY_FIELD, names, probe.name_number, 0)


cdef note_written(uint64_t address, dict names, str name):
    written = address, name
    if written not in written_outside:
        if address not in _log.namespaces:
            _log.name_namespace(address, names.get("__name__"))
        written_outside.add(written)
