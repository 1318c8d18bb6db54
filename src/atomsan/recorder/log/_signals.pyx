# cython: language_level=3, freethreading_compatible=True
"""The bystander: a process in our process group that keeps signals pending, and is asked whether it got one too.

It is forked in C and runs nothing of Python: no thread of ours and no handler is in it. It ends when nobody holds the
other end of its pipe any more, so also when this process is killed.
"""

cdef extern from * nogil:
    """
    #include <fcntl.h>
    #include <signal.h>
    #include <stdint.h>
    #include <string.h>
    #include <unistd.h>
    #ifdef __linux__
    #include <sys/prctl.h>
    #include <sys/syscall.h>
    #endif

    /* Everything but the two pipes, which nobody is to wait for because of this process. */
    static void atomsan_close_from(int lowest) {
    #ifdef SYS_close_range
        if (syscall(SYS_close_range, lowest, ~0U, 0) == 0) return;
    #endif
        long most = sysconf(_SC_OPEN_MAX);
        if (most < 0 || most > 65536) most = 65536;
        for (int descriptor = lowest; descriptor < most; descriptor++) close(descriptor);
    }

    /* So that who looks for us by name, to send us a signal, does not find this process. */
    static void atomsan_rename(uintptr_t start, uintptr_t end) {
        static const char name[] = "signal-witness";
        if (end > start) memset((void *)start, 0, end - start);
        if (end > start + sizeof(name)) memcpy((void *)start, name, sizeof(name));
    #ifdef __linux__
        prctl(PR_SET_NAME, name, 0, 0, 0);
    #endif
    }

    static void atomsan_stand_by(int questions, int answers) {
        unsigned char number, answer;
        for (;;) {
            sigset_t pending, asked;
            int taken;
            if (read(questions, &number, 1) != 1) _exit(0);
            sigemptyset(&asked);
            sigaddset(&asked, number);
            answer = sigpending(&pending) == 0 && sigismember(&pending, number) == 1;
            if (answer) sigwait(&asked, &taken);
            if (write(answers, &answer, 1) != 1) _exit(0);
        }
    }

    static int atomsan_bystander(
        int questions, int answers, const unsigned char *numbers, int count, uintptr_t title, uintptr_t title_end
    ) {
        sigset_t all, before;
        struct sigaction action;
        pid_t process;
        /* before the fork: nothing is to run in the other process, whatever comes when */
        sigfillset(&all);
        if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return -1;
        process = fork();
        if (process != 0) {
            pthread_sigmask(SIG_SETMASK, &before, NULL);
            return (int)process;
        }
        /* one that is ignored need not be kept */
        memset(&action, 0, sizeof(action));
        action.sa_handler = SIG_DFL;
        for (int i = 0; i < count; i++) sigaction(numbers[i], &action, NULL);
        /* first out of the way of each other */
        questions = fcntl(questions, F_DUPFD, 5);
        answers = fcntl(answers, F_DUPFD, 5);
        if (dup2(questions, 3) < 0 || dup2(answers, 4) < 0) _exit(0);
        close(0);
        close(1);
        close(2);
        atomsan_close_from(5);
        atomsan_rename(title, title_end);
        atomsan_stand_by(3, 4);
        return -1;
    }
    """
    ctypedef size_t uintptr_t
    int start_bystander "atomsan_bystander"(
        int questions, int answers, const unsigned char *numbers, int count, uintptr_t title, uintptr_t title_end
    )


def bystander(int questions, int answers, bytes numbers, uintptr_t title, uintptr_t title_end):
    """Start a bystander for the signals of these numbers; gives the number of the process, -1: there is none.

    It answers each byte in `questions`, a number, by one in `answers`: 1 if that signal was pending, which it is no
    longer then. `title` is where the command line of this process stands in its memory.
    """
    return start_bystander(questions, answers, numbers, len(numbers), title, title_end)
