// The hook of Swift's concurrency runtime for programs that schedule jobs themselves. It is named
// here so that the linker also finds it in the static runtime.
extern void *swift_task_enqueueGlobal_hook;

static inline void **ferry_enqueue_hook(void) { return &swift_task_enqueueGlobal_hook; }
