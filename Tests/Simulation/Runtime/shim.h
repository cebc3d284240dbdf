// What Swift's concurrency runtime offers to those who want to schedule jobs themselves. Named here, so that the linker finds
// it in the static runtime, too.
extern void *swift_task_enqueueGlobal_hook;

static inline void **ferry_enqueue_hook(void) { return &swift_task_enqueueGlobal_hook; }
