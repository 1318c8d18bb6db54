# cython: language_level=3, freethreading_compatible=True
"""Tells signals that a process sent (`kill`) from those of the terminal, which go to its whole foreground.

Python's handlers do not get the sender. So a C handler, which does, is put in front of Python's and calls it.
"""

cdef extern from * nogil:
    """
    #include <signal.h>
    #include <string.h>

    #define ATOMSAN_SIGNALS 65
    static volatile sig_atomic_t atomsan_was_sent[ATOMSAN_SIGNALS];
    static void (*atomsan_python[ATOMSAN_SIGNALS])(int);

    static void atomsan_handler(int number, siginfo_t *info, void *context) {
        (void)context;
        atomsan_was_sent[number] = info != NULL && (info->si_code == SI_USER || info->si_code == SI_QUEUE
    #ifdef SI_TKILL
                                                    || info->si_code == SI_TKILL
    #endif
        );
        atomsan_python[number](number);
    }

    static int atomsan_watch(int number) {
        struct sigaction action;
        if (number <= 0 || number >= ATOMSAN_SIGNALS || sigaction(number, NULL, &action) < 0) return -1;
        if (action.sa_flags & SA_SIGINFO || action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) return -1;
        atomsan_python[number] = action.sa_handler;
        atomsan_was_sent[number] = 0;
        action.sa_sigaction = atomsan_handler;
        action.sa_flags |= SA_SIGINFO;
        return sigaction(number, &action, NULL);
    }
    """
    int watch_signal "atomsan_watch"(int number)
    int atomsan_was_sent[65]


def watch(int number):
    """After `signal.signal`, until the next one for this signal. False: it cannot be told who sends it."""
    return watch_signal(number) == 0


def was_sent(int number):
    """Whether the last signal of this number was sent to this process; or else by the terminal to its foreground."""
    return 0 < number < 65 and atomsan_was_sent[number] != 0
