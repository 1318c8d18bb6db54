/* Detects callbacks: whether the running function was called by recorded code, or called back by a library.
 *
 * A function is called back if the Python frame that called it is of code that is not recorded, and further out on the
 * stack there is one that is. (C code in between makes no frame: a key function of `sorted` is called by whoever sorts.)
 * An ordinary call can come by a library, too: through a decorator or a descriptor. `is_invoked_by_name` knows those.
 *
 * Nothing of the program runs for that, and no frame object is made where the interpreter's own structures are known; of
 * other versions, frame objects are asked.
 */
#ifndef ATOMSAN_CALLBACKS_H
#define ATOMSAN_CALLBACKS_H

#include "_probes.h"

/* The mark of a code object. It is stored in the code object, and freed with it. */
enum { CODE_UNKNOWN = 0, CODE_RECORDED = 1, CODE_FOREIGN = 2 };

static Py_ssize_t code_marks = -1;        /* which of the extras of code objects is ours */
static uint64_t code_generation = 1;      /* counts deaths of recorded code: an address may be used again */
static int callers_remembered = 0;        /* by probes, since such code died last */

/* Whether the caller, at this instruction, invokes the function of this code by its name: 1, 0, or -1 for not known. */
static int (*is_invoked_by_name)(PyObject *caller, int instruction, PyObject *called);

static void forget_code(void *mark) {
    if ((uintptr_t)mark != CODE_RECORDED) return;
    code_generation++;
    if (!callers_remembered) return;
    callers_remembered = 0;
    for (Probe *probe = all_probes.after; probe != &all_probes; probe = probe->after) {
        if (probe->is_entry) probe->caller = NULL;
    }
}

static int ready_code_marks(void) {
    code_marks = _PyEval_RequestCodeExtraIndex(forget_code);
    return code_marks < 0 ? -1 : 0;
}

static int has_probes(PyCodeObject *code) {
    PyObject *constants = code->co_consts;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants); i++) {
        PyObject *constant = PyTuple_GET_ITEM(constants, i);
        if (PyType_IsSubtype(Py_TYPE(constant), &probe_type)) return 1;
        if (PyCode_Check(constant) && has_probes((PyCodeObject *)constant)) return 1;
    }
    return 0;
}

/* Of code that was made in another way than by us (`replace`, pickles) it shows in its constants. */
static int found_mark(PyCodeObject *code) {
    void *mark = NULL;
    if (_PyCode_GetExtra((PyObject *)code, code_marks, &mark) < 0) PyErr_Clear();
    if (mark == NULL) {
        mark = (void *)(uintptr_t)(has_probes(code) ? CODE_RECORDED : CODE_FOREIGN);
        if (_PyCode_SetExtra((PyObject *)code, code_marks, mark) < 0) PyErr_Clear();
    }
    return (int)(uintptr_t)mark;
}

static int mark_recorded(PyObject *code) {
    PyObject *constants = ((PyCodeObject *)code)->co_consts;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants); i++) {
        PyObject *constant = PyTuple_GET_ITEM(constants, i);
        if (PyCode_Check(constant) && mark_recorded(constant) < 0) return -1;
    }
    return _PyCode_SetExtra(code, code_marks, (void *)(uintptr_t)CODE_RECORDED);
}

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030E0000 && !defined(Py_GIL_DISABLED) && !defined(ATOMSAN_GENERAL_FRAMES)
typedef uint16_t CodeUnit;         /* an instruction has two bytes, and so has each entry of its cache */

#if PY_VERSION_HEX < 0x030C0000
typedef struct CallFrame {
    PyObject *function, *globals, *builtins, *locals;
    PyCodeObject *code;
    PyObject *object;
    struct CallFrame *previous;
    CodeUnit *instruction;
    int stacktop;
    char is_entry;
    char owner;
} CallFrame;
#else
typedef struct CallFrame {
    PyCodeObject *code;            /* from 3.13 on None in a frame on the C stack */
    struct CallFrame *previous;
    PyObject *function, *globals, *builtins, *locals, *object;
    CodeUnit *instruction;
    int stacktop;
    uint16_t return_offset;
    char owner;
} CallFrame;
#endif

enum { OWNED_BY_GENERATOR = 1, OWNED_BY_C_STACK = 3 };

typedef struct { Py_ssize_t size; void *marks[1]; } CodeExtras;

typedef CallFrame *Caller;

static inline CallFrame *running_frame(void) {
#if PY_VERSION_HEX >= 0x030D0000
    return (CallFrame *)PyThreadState_GetUnchecked()->current_frame;
#else
    return (CallFrame *)_PyThreadState_UncheckedGet()->cframe->current_frame;
#endif
}

/* Frames that show to nobody: those between the interpreter and C, and those that have not begun. */
static inline int is_hidden(const CallFrame *frame) {
    if (frame->owner == OWNED_BY_C_STACK) return 1;
    return frame->owner != OWNED_BY_GENERATOR
           && frame->instruction < (CodeUnit *)frame->code->co_code_adaptive + frame->code->_co_firsttraceable;
}

static inline Caller further_out(Caller frame) {
    do {
        frame = frame->previous;
    } while (frame != NULL && is_hidden(frame));
    return frame;
}

static inline Caller the_running(void) { return running_frame(); }
static inline void let_caller_go(Caller caller) {}
static inline PyCodeObject *code_of(Caller caller) { return caller->code; }
static inline int instruction_of(Caller caller) {
    return (int)((char *)caller->instruction - caller->code->co_code_adaptive);
}

static inline int mark_of(PyCodeObject *code) {
    const CodeExtras *extras = (const CodeExtras *)code->co_extra;
    if (UNLIKELY(extras == NULL) || UNLIKELY(extras->size <= code_marks)) return CODE_UNKNOWN;
    return (int)(uintptr_t)extras->marks[code_marks];
}

/* By recorded code: most calls. The code that called the function last is remembered. */
static inline int is_called_plainly(Probe *probe) {
    const CallFrame *frame = running_frame()->previous;
    return LIKELY(frame != NULL) && LIKELY(frame->code == probe->caller);
}

static int is_called_by_recorded(Probe *probe) {
    const CallFrame *frame = further_out(running_frame());
    if (frame == NULL) return 1;
    if (mark_of(frame->code) != CODE_RECORDED) return 0;
    probe->caller = frame->code;
    callers_remembered = 1;
    return 1;
}
#else
typedef PyFrameObject *Caller;

static inline Caller the_running(void) { return PyThreadState_GetFrame(PyThreadState_Get()); }
static inline void let_caller_go(Caller caller) { Py_XDECREF((PyObject *)caller); }
static inline Caller further_out(Caller frame) {
    PyFrameObject *back = PyFrame_GetBack(frame);
    let_caller_go(frame);
    return back;
}
static inline PyCodeObject *code_of(Caller caller) {
    PyCodeObject *code = PyFrame_GetCode(caller);
    Py_DECREF((PyObject *)code);   /* the frame has it */
    return code;
}
static inline int instruction_of(Caller caller) { return PyFrame_GetLasti(caller); }
static inline int is_called_plainly(Probe *probe) { return 0; }
static int is_called_by_recorded(Probe *probe) { return 0; }
static inline int mark_of(PyCodeObject *code) { return CODE_UNKNOWN; }
#endif

static inline int is_recorded_code(PyCodeObject *code) {
    int mark = mark_of(code);
    return (mark != CODE_UNKNOWN ? mark : found_mark(code)) == CODE_RECORDED;
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

/* Whether a library calls the running function back. Code of ours may run, and so may other threads. */
static int is_called_back(void) {
    Caller frame = the_running();
    if (UNLIKELY(frame == NULL)) return 0;
    PyCodeObject *called = code_of(frame);
    int is_callback = 0, is_direct = is_recorded_code(called);   /* it is, and has its mark from now on */
    while ((frame = further_out(frame)) != NULL) {
        if (is_recorded_code(code_of(frame))) {
            is_callback = !is_direct && is_callback_from(code_of(frame), instruction_of(frame), called);
            break;
        }
        is_direct = 0;
    }
    let_caller_go(frame);
    return is_callback;
}

#endif
