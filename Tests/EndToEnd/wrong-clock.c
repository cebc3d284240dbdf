/* Gives a program a clock that differs by the seconds in the file named by FERRY_CLOCK: eight bytes, mapped, so that
 * writing them sets the clock of a running program. Preloaded. The monotonic clock and the times of files stay.
 *
 * Waits until a time of day last until that clock shows it, including those that enter the kernel as futexes, as gRPC's
 * do. libfaketime does not handle these, so gRPC spins or is late. A wait checks the clock from time to time, so
 * a jump ends or extends it, as settimeofday(2) does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static const int64_t nothing, *offset = &nothing;

__attribute__((constructor)) static void find_clock(void) {
    const char *file = getenv("FERRY_CLOCK");
    int descriptor = file ? open(file, O_RDONLY | O_CLOEXEC) : -1;
    if (descriptor < 0) return;
    void *mapped = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, descriptor, 0);
    if (mapped != MAP_FAILED) offset = mapped;
    close(descriptor);
}

static int64_t seconds_off(void) { return *(volatile const int64_t *)offset; }

#define ORIGINAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int real_clock(clockid_t clock, struct timespec *time) {
    static __typeof__(&clock_gettime) original;
    if (!original) original = ORIGINAL(clock_gettime);
    return original(clock, time);
}

static int is_wall(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE; }

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = real_clock(clock, time);
    if (result == 0 && is_wall(clock)) time->tv_sec += seconds_off();
    return result;
}

time_t time(time_t *result) {
    struct timespec now;
    real_clock(CLOCK_REALTIME, &now);
    now.tv_sec += seconds_off();
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    struct timespec now;
    (void)zone;
    real_clock(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec + seconds_off();
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

/* Sets the real time of a wrong one, or that of the next check if it is earlier. Returns whether the wait ends then. */
static int real_time(const struct timespec *wrong, struct timespec *real) {
    struct timespec look;
    real_clock(CLOCK_REALTIME, &look);
    *real = *wrong;
    real->tv_sec -= seconds_off();
    if (real->tv_sec < 0) real->tv_sec = 0;
    look.tv_nsec += 100000000;
    if (look.tv_nsec >= 1000000000) look.tv_nsec -= 1000000000, look.tv_sec += 1;
    if (real->tv_sec < look.tv_sec || (real->tv_sec == look.tv_sec && real->tv_nsec <= look.tv_nsec)) return 1;
    *real = look;
    return 0;
}

/* A condition may wake spuriously, so a check of the clock may wake it: its caller checks the condition again. */
static int looked(int result, int is_end) { return result == ETIMEDOUT && !is_end ? 0 : result; }

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *time) {
    static __typeof__(&pthread_cond_timedwait) original;
    /* x86-64 also has an older symbol with this name. */
    if (!original) original = (__typeof__(original))dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    if (!original) original = ORIGINAL(pthread_cond_timedwait);
    /* nptl/pthreadP.h: whether pthread_condattr_setclock chose the monotonic clock. */
    if (condition->__data.__wrefs & 2) return original(condition, mutex, time);
    struct timespec real;
    int is_end = real_time(time, &real);
    return looked(original(condition, mutex, &real), is_end);
}

int pthread_cond_clockwait(
    pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *time) {
    static __typeof__(&pthread_cond_clockwait) original;
    if (!original) original = ORIGINAL(pthread_cond_clockwait);
    if (clock != CLOCK_REALTIME) return original(condition, mutex, clock, time);
    struct timespec real;
    int is_end = real_time(time, &real);
    return looked(original(condition, mutex, clock, &real), is_end);
}

int sem_timedwait(sem_t *semaphore, const struct timespec *wrong) {
    static __typeof__(&sem_timedwait) original;
    if (!original) original = ORIGINAL(sem_timedwait);
    while (1) {
        struct timespec time;
        int is_end = real_time(wrong, &time);
        int result = original(semaphore, &time);
        if (result == 0 || errno != ETIMEDOUT || is_end) return result;
    }
}

long syscall(long number, ...) {
    static __typeof__(&syscall) original;
    if (!original) original = ORIGINAL(syscall);
    long value[6];
    va_list values;
    va_start(values, number);
    for (int index = 0; index < 6; index++) value[index] = va_arg(values, long);
    va_end(values);
    struct timespec time;
    int is_end = 1;
    if (number == SYS_futex && value[1] & FUTEX_CLOCK_REALTIME && (value[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && value[3]) {
        is_end = real_time((const struct timespec *)value[3], &time);
        value[3] = (long)&time;
    }
    long result = original(number, value[0], value[1], value[2], value[3], value[4], value[5]);
    /* Like an interruption by a signal. */
    if (result < 0 && errno == ETIMEDOUT && !is_end) errno = EINTR;
    return result;
}

/* Timers for a time of day that were set before a jump are not changed by it. */
static volatile char is_wall_timer[4096];

int timerfd_create(int clock, int flags) {
    int timer = ORIGINAL(timerfd_create)(clock, flags);
    if (timer >= 0 && timer < (int)sizeof is_wall_timer) is_wall_timer[timer] = clock == CLOCK_REALTIME;
    return timer;
}

/* Timers that are to fire when the clock is set (TFD_TIMER_CANCEL_ON_SET). The kernel would report ECANCELED; here they
 * expire at once, after which their owner looks at the clock as well. */
static volatile char is_cancelled_timer[4096];

static void *watch_clock(void *unused) {
    int64_t last = seconds_off();
    (void)unused;
    while (1) {
        struct timespec pause = {0, 20000000};
        nanosleep(&pause, NULL);
        if (seconds_off() == last) continue;
        last = seconds_off();
        struct itimerspec now = {{0, 0}, {0, 1}};
        for (int timer = 0; timer < (int)sizeof is_cancelled_timer; timer++)
            if (is_cancelled_timer[timer]) ORIGINAL(timerfd_settime)(timer, 0, &now, NULL);
    }
    return NULL;
}

static void start_watching(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, watch_clock, NULL) == 0) pthread_detach(thread);
}

int timerfd_settime(int timer, int flags, const struct itimerspec *time, struct itimerspec *old) {
    struct itimerspec real = *time;
    int is_set = time->it_value.tv_sec != 0 || time->it_value.tv_nsec != 0;
    if (flags & TFD_TIMER_ABSTIME && is_set && timer >= 0 && timer < (int)sizeof is_wall_timer && is_wall_timer[timer]) {
        real.it_value.tv_sec -= seconds_off();
        /* Zero would disarm the timer. */
        if (real.it_value.tv_sec < 0) real.it_value = (struct timespec){0, 1};
    }
    if (timer >= 0 && timer < (int)sizeof is_cancelled_timer) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        is_cancelled_timer[timer] = flags & TFD_TIMER_CANCEL_ON_SET && is_set;
        if (is_cancelled_timer[timer]) pthread_once(&once, start_watching);
    }
    return ORIGINAL(timerfd_settime)(timer, flags, &real, old);
}
