/* Who called the running function: the site of the call in recorded code, and whether a library calls it back.
 *
 * The call is where the nearest frame of recorded code below it stands. C code makes no frame, and frames of libraries are
 * passed over: a key function of `sorted`, and one that a retrying library calls, were called by the expression in
 * recorded code that began it all. At most MOST_FRAMES are passed over; what is called from deeper inside a library has
 * no caller. Nor has what a thread or task runs first.
 *
 * A function is called back if the frame right below it is of code that is not recorded, and further out on the stack there
 * is one that is. An ordinary call can come by a library, too: through a decorator or a descriptor. `is_invoked_by_name`
 * knows those.
 */
#ifndef ATOMSAN_CALLERS_H
#define ATOMSAN_CALLERS_H

#include "_frames.h"
#include "_probes.h"

#define MOST_FRAMES 200

/* What is known of a code object. It hangs on the code object, and is freed with it: an address that is used again has
 * nothing of the code that was there before. */
typedef struct {
    uint64_t epoch;      /* the recording in which `sites` hold; 0: none, and always of code that is not recorded */
    uint32_t *sites;     /* by instruction, the number of the site of the call that it makes; 0: none was given yet */
    uint32_t module;     /* a site of the module that it is of */
} CodeMark;

static CodeMark foreign_code;             /* the mark of all code that is not recorded */
static Py_ssize_t code_marks = -1;        /* which of the extras of code objects is ours */
static uint64_t code_generation = 1;      /* counts deaths of recorded code: an address may be used again */
static int callers_remembered = 0;        /* by probes, since such code died last */

/* Whether the caller, at this instruction, invokes the function of this code by its name: 1, 0, or -1 for not known. */
static int (*is_invoked_by_name)(PyObject *caller, int instruction, PyObject *called);
/* The number of the site of a call; 0: it cannot be given now. NO_CALL_SITE is that of a call that has none. */
#define NO_CALL_SITE (UINT32_MAX - 1)
static uint32_t (*number_of_call)(PyObject *caller, int instruction, uint32_t module);

static void forget_callers(void) {
    if (!callers_remembered) return;
    callers_remembered = 0;
    for (Probe *probe = all_probes.after; probe != &all_probes; probe = probe->after) {
        if (probe->is_entry) probe->called_from = NULL;
    }
}

static void forget_code(void *mark) {
    if (mark == &foreign_code) return;
    code_generation++;
    forget_callers();
    PyMem_RawFree(((CodeMark *)mark)->sites);
    PyMem_RawFree(mark);
}

static int ready_code_marks(void) {
    code_marks = _PyEval_RequestCodeExtraIndex(forget_code);
    return code_marks < 0 ? -1 : 0;
}

static CodeMark *set_mark(PyCodeObject *code, uint32_t module) {
    void *known = NULL;
    if (_PyCode_GetExtra((PyObject *)code, code_marks, &known) < 0) PyErr_Clear();
    CodeMark *mark = known != NULL && known != &foreign_code ? known : PyMem_RawCalloc(1, sizeof(CodeMark));
    if (mark == NULL) return NULL;
    mark->module = module;
    if (mark == known) return mark;
    if (_PyCode_SetExtra((PyObject *)code, code_marks, mark) == 0) return mark;
    PyErr_Clear();
    PyMem_RawFree(mark);
    return NULL;
}

/* The site of some probe in the code; 0: there is none. */
static uint32_t site_in(PyCodeObject *code) {
    PyObject *constants = code->co_consts;
    uint32_t site = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants) && !site; i++) {
        PyObject *constant = PyTuple_GET_ITEM(constants, i);
        if (PyType_IsSubtype(Py_TYPE(constant), &probe_type)) site = ((Probe *)constant)->site;
        else if (PyCode_Check(constant)) site = site_in((PyCodeObject *)constant);
    }
    return site;
}

/* Of code that was made in another way than by us (`replace`, pickles) it shows in its constants. */
static CodeMark *found_mark(PyCodeObject *code) {
    void *mark = NULL;
    if (_PyCode_GetExtra((PyObject *)code, code_marks, &mark) < 0) PyErr_Clear();
    if (mark == NULL) {
        uint32_t module = site_in(code);
        if (module) mark = set_mark(code, module);
        else if (_PyCode_SetExtra((PyObject *)code, code_marks, &foreign_code) < 0) PyErr_Clear();
    }
    return mark == NULL ? &foreign_code : mark;
}

static int mark_recorded(PyObject *code, uint32_t module) {
    PyObject *constants = ((PyCodeObject *)code)->co_consts;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants); i++) {
        PyObject *constant = PyTuple_GET_ITEM(constants, i);
        if (PyCode_Check(constant) && mark_recorded(constant, module) < 0) return -1;
    }
    return set_mark((PyCodeObject *)code, module) == NULL ? -1 : 0;
}

#define CALL_UNKNOWN UINT32_MAX

#ifdef ATOMSAN_KNOWN_FRAMES
typedef struct { Py_ssize_t size; void *marks[1]; } CodeExtras;

static inline CodeMark *mark_of(PyCodeObject *code) {
    const CodeExtras *extras = (const CodeExtras *)code->co_extra;
    if (UNLIKELY(extras == NULL) || UNLIKELY(extras->size <= code_marks)) return NULL;
    return extras->marks[code_marks];
}

/* The site of the call if recorded code makes it, has made it before, and nothing but C is in between: most calls. 0 if
 * nobody called; else CALL_UNKNOWN. The instruction that called the function last is remembered, by its address. */
static inline uint32_t plain_call(Probe *probe) {
    CallFrame *frame = running_frame()->previous;
    if (LIKELY(frame != NULL) && LIKELY(frame->instruction == probe->called_from)) return probe->call_site;
    while (frame != NULL && is_hidden(frame)) frame = frame->previous;
    if (UNLIKELY(frame == NULL)) return 0;
    const CodeMark *mark = mark_of(frame->code);
    if (UNLIKELY(mark == NULL) || UNLIKELY(mark->epoch != S->epoch)) return CALL_UNKNOWN;
    uint32_t site = mark->sites[(unsigned)instruction_of(frame) / 2];
    if (UNLIKELY(site == 0)) return CALL_UNKNOWN;
    probe->called_from = frame->instruction;
    probe->call_site = site;
    callers_remembered = 1;
    return site;
}
#else
static inline uint32_t plain_call(Probe *probe) { return CALL_UNKNOWN; }
static inline CodeMark *mark_of(PyCodeObject *code) { return NULL; }
#endif

/* The mark of recorded code; NULL: it is not recorded. */
static inline CodeMark *recorded_mark(PyCodeObject *code) {
    CodeMark *mark = mark_of(code);
    if (mark == NULL) mark = found_mark(code);
    return mark == &foreign_code ? NULL : mark;
}

/* Cache of the answers about calls that came by a library. */
typedef struct {
    PyCodeObject *caller;
    PyCodeObject *called;
    uint64_t generation;
    int instruction;
    int is_callback;
} KnownCall;

#define KNOWN_CALLS 4096
static KnownCall known_calls[KNOWN_CALLS];

static int is_callback_from(PyCodeObject *caller, int instruction, PyCodeObject *called) {
    uint64_t mixed = (uint64_t)(uintptr_t)caller ^ (uint64_t)(uintptr_t)called << 7 ^ (uint64_t)instruction << 20;
    KnownCall *known = &known_calls[(mixed * 0x9E3779B97F4A7C15ull) >> 52];
    if (LIKELY(known->caller == caller) && known->called == called && known->instruction == instruction
        && known->generation == code_generation) {
        return known->is_callback;
    }
    Py_INCREF(caller);
    Py_INCREF(called);
    int answer = is_invoked_by_name((PyObject *)caller, instruction, (PyObject *)called);
    if (answer >= 0) *known = (KnownCall){caller, called, code_generation, instruction, !answer};
    Py_DECREF(caller);
    Py_DECREF(called);
    return answer != 1;
}

/* The site of the call that recorded code makes at this instruction. It is numbered once for each code object. */
static uint32_t site_of_call(CodeMark *mark, PyCodeObject *code, int instruction) {
    uint64_t epoch = S->epoch;
    size_t units = (size_t)Py_SIZE(code), unit = (size_t)instruction / 2;
    if (instruction < 0 || unit >= units) return 0;
    if (mark->epoch != epoch) {
        uint32_t *sites = PyMem_RawRealloc(mark->sites, units * sizeof(uint32_t));
        if (sites == NULL) return 0;
        memset(sites, 0, units * sizeof(uint32_t));
        mark->sites = sites;
        mark->epoch = epoch;
    }
    if (mark->sites[unit]) return mark->sites[unit];
    Py_INCREF(code);
    uint32_t site = number_of_call((PyObject *)code, instruction, mark->module);
    int is_valid = S->epoch == epoch;
    if (is_valid) mark->sites[unit] = site;
    Py_DECREF(code);
    return is_valid ? site : 0;
}

/* The site of the call of the running function, or 0, and whether a library calls it back. Code of ours may run, and so
 * may other threads. */
static uint32_t find_call(int *is_callback) {
    *is_callback = 0;
    if (UNLIKELY(mine->epoch != S->epoch)) mine = S->enter();
    const void *base = mine->base;
    Caller frame = the_running();
    if (UNLIKELY(frame == NULL)) return 0;
    PyCodeObject *called = code_of(frame);
    uint32_t site = 0;
    int is_direct = recorded_mark(called) != NULL;   /* it is, and has its mark from now on */
    for (int passed = 0; passed <= MOST_FRAMES && (frame = further_out(frame)) != NULL && frame != base; passed++) {
        CodeMark *mark = recorded_mark(code_of(frame));
        if (mark != NULL) {
            int instruction = instruction_of(frame);
            *is_callback = !is_direct && is_callback_from(code_of(frame), instruction, called);
            site = site_of_call(mark, code_of(frame), instruction);
            break;
        }
        is_direct = 0;
    }
    let_caller_go(frame);
    return site;
}

/* Whether recorded code runs, or C code that it called. */
static int is_recorded_here(void) {
    Caller frame = shown_frame(the_running());
    int is_recorded = frame != NULL && recorded_mark(code_of(frame)) != NULL;
    let_caller_go(frame);
    return is_recorded;
}

/* The site in recorded code at which the running thread stands, also while a library runs for it; 0: there is none. Code
 * of ours may run, and so may other threads. */
static uint32_t find_site_here(void) {
    if (UNLIKELY(mine->epoch != S->epoch)) mine = S->enter();
    const void *base = mine->base;
    Caller frame = shown_frame(the_running());
    uint32_t site = 0;
    for (int passed = 0; passed <= MOST_FRAMES && frame != NULL && frame != base; passed++) {
        CodeMark *mark = recorded_mark(code_of(frame));
        if (mark != NULL) {
            site = site_of_call(mark, code_of(frame), instruction_of(frame));
            break;
        }
        frame = further_out(frame);
    }
    let_caller_go(frame);
    return site == NO_CALL_SITE ? 0 : site;
}

#endif
