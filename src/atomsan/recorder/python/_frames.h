/* The Python frames below the running one: which code each runs, and at which instruction it stands.
 *
 * Nothing of the program runs for that, and no frame object is made where the interpreter's own structures are known; of
 * other versions, frame objects are asked.
 */
#ifndef ATOMSAN_FRAMES_H
#define ATOMSAN_FRAMES_H

#include <Python.h>

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030E0000 && !defined(Py_GIL_DISABLED) && !defined(ATOMSAN_GENERAL_FRAMES)
#define ATOMSAN_KNOWN_FRAMES
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

/* The frame, or the next one further out that shows. */
static inline Caller shown_frame(Caller frame) {
    while (frame != NULL && is_hidden(frame)) frame = frame->previous;
    return frame;
}

static inline Caller further_out(Caller frame) { return shown_frame(frame->previous); }

static inline Caller the_running(void) { return running_frame(); }
static inline void let_caller_go(Caller caller) {}
static inline PyCodeObject *code_of(Caller caller) { return caller->code; }
static inline int instruction_of(Caller caller) {
    return (int)((char *)caller->instruction - caller->code->co_code_adaptive);
}
#else
typedef PyFrameObject *Caller;

static inline Caller the_running(void) { return PyThreadState_GetFrame(PyThreadState_Get()); }
static inline void let_caller_go(Caller caller) { Py_XDECREF((PyObject *)caller); }
static inline Caller shown_frame(Caller frame) { return frame; }
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
#endif

/* The running frame, to be compared with others for as long as it runs. */
static inline const void *frame_here(void) {
    Caller frame = the_running();
    let_caller_go(frame);
    return frame;
}

/* The one that called it. */
static inline const void *frame_below(void) {
    Caller frame = shown_frame(the_running());
    if (frame != NULL) frame = further_out(frame);
    let_caller_go(frame);
    return frame;
}

#endif
