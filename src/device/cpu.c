/* The CPU device: memory from the system, and a pass as one run of the thread pool: every thread walks the
 * command list and meets the others after each op. */
#include "device/device.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cpu.h"

typedef struct cpu_device {
    sumi_device base; /* first: a sumi_device is this */
    sumi_pool *pool;
    sumi_kernel_set kernels;
    pthread_mutex_t pass_mutex; /* one pass at a time; guards scratch */
    uint8_t *scratch;
    size_t scratch_bytes; /* grows only */
} cpu_device;

static cpu_device *cpu(sumi_device *device) { return (cpu_device *)device; }

enum { HUGE_PAGE = 2 << 20, CACHE_LINE = 64 };

/* Big blocks come from mmap, zeroed without being touched, and ask for huge pages: reading weights through
 * 4 KB pages costs half of the memory bandwidth. */
static sumi_status cpu_alloc(sumi_device *device, uint8_t **data, size_t size_bytes, sumi_error *err)
{
    (void)device;
    *data = NULL;
    if (size_bytes > SIZE_MAX - 2 * HUGE_PAGE) return sumi_fail(err, SUMI_ENOMEM, "cpu: %zu bytes", size_bytes);
    if (size_bytes < HUGE_PAGE) {
        const size_t rounded = (size_bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
        *data = aligned_alloc(CACHE_LINE, rounded);
        if (!*data) return sumi_fail(err, SUMI_ENOMEM, "cpu: cannot allocate %zu bytes", size_bytes);
        memset(*data, 0, rounded);
        return SUMI_OK;
    }
    void *p = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return sumi_fail(err, SUMI_ENOMEM, "cpu: cannot allocate %zu bytes: %s", size_bytes, strerror(errno));
#ifdef MADV_HUGEPAGE
    madvise(p, size_bytes, MADV_HUGEPAGE); /* advice: without it everything works, only slower */
#endif
    *data = p;
    return SUMI_OK;
}

static void cpu_release(sumi_device *device, uint8_t *data, size_t size_bytes)
{
    (void)device;
    if (size_bytes < HUGE_PAGE)
        free(data);
    else
        munmap(data, size_bytes);
}

static void cpu_write(sumi_device *device, uint8_t *dst, const void *src, size_t n_bytes)
{
    (void)device;
    memcpy(dst, src, n_bytes);
}

static void cpu_read(sumi_device *device, void *dst, const uint8_t *src, size_t n_bytes)
{
    (void)device;
    memcpy(dst, src, n_bytes);
}

typedef struct upload_job {
    sumi_weight *weight;
    const sumi_weight_part *parts;
    int32_t n_parts;
} upload_job;

/* Each thread copies the rows that it will later multiply with, so that it is the one to touch their pages first. */
static void upload_share(void *ctx, int32_t i_thread, int32_t n_threads)
{
    const upload_job *job = ctx;
    sumi_weight *w = job->weight;
    int64_t begin, end, first = 0;
    sumi_pool_share(w->n_rows, 16, i_thread, n_threads, &begin, &end);
    for (int32_t i = 0; i < job->n_parts; i++) {
        const sumi_weight_part *part = &job->parts[i];
        const int64_t from = begin > first ? begin : first;
        const int64_t to = end < first + part->n_rows ? end : first + part->n_rows;
        if (from < to)
            memcpy(w->data + (size_t)from * w->row_bytes,
                   (const uint8_t *)part->data + (size_t)(from - first) * w->row_bytes,
                   (size_t)(to - from) * w->row_bytes);
        first += part->n_rows;
    }
}

static void cpu_upload(sumi_weight *weight, const sumi_weight_part *parts, int32_t n_parts)
{
    upload_job job = { weight, parts, n_parts };
    sumi_pool_run(cpu(weight->device)->pool, upload_share, &job);
}

static size_t cpu_scratch_bytes(const sumi_device *device, sumi_op_id op, const void *args)
{
    return sumi_ops[op].scratch(args, device->n_threads);
}

enum { NOT_FAILED = -1 };

struct sumi_run_error {
    _Atomic int64_t
        failed_at; /* index of the command that failed first; set once, by the thread that fills `error` */
    sumi_error error;
};

void sumi_run_fail(const sumi_run *run, sumi_status status, const char *fmt, ...)
{
    int64_t not_failed = NOT_FAILED;
    if (!atomic_compare_exchange_strong(&run->error->failed_at, &not_failed, run->i_command)) return;
    char message[sizeof run->error->error.message];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    sumi_fail(&run->error->error, status, "%s", message);
}

typedef struct pass {
    const cpu_device *device;
    const sumi_encoder *encoder;
    struct sumi_run_error error;
} pass;

static void walk_commands(void *ctx, int32_t i_thread, int32_t n_threads)
{
    pass *p = ctx;
    sumi_run run = { .k = &p->device->kernels,
                     .pool = p->device->pool,
                     .i_thread = i_thread,
                     .n_threads = n_threads,
                     .scratch = p->device->scratch,
                     .error = &p->error };
    for (size_t i = 0; i < p->encoder->n_commands; i++) {
        const sumi_command *c = &p->encoder->commands[i];
        run.i_command = (int64_t)i;
        sumi_ops[c->op].run(p->encoder->args + c->args_at, &run);
        sumi_pool_barrier(p->device->pool);
        /* All threads must leave together. A faster one may already have failed in a later command: that does
         * not count here, it will be waiting at that command's barrier. */
        const int64_t failed_at = atomic_load(&p->error.failed_at);
        if (failed_at != NOT_FAILED && failed_at <= (int64_t)i) return;
    }
}

static sumi_status grow_scratch(cpu_device *d, size_t needed, sumi_error *err)
{
    if (needed <= d->scratch_bytes) return SUMI_OK;
    uint8_t *grown;
    const sumi_status st = cpu_alloc(&d->base, &grown, needed, err);
    if (st) return st;
    if (d->scratch) cpu_release(&d->base, d->scratch, d->scratch_bytes);
    d->scratch = grown;
    d->scratch_bytes = needed;
    return SUMI_OK;
}

/* The pass runs here, on the pool and the calling thread; wait only reports. */
static sumi_status cpu_submit(sumi_device *device, sumi_encoder *encoder, sumi_error *err)
{
    cpu_device *d = cpu(device);
    pass p = { .device = d, .encoder = encoder, .error = { .failed_at = NOT_FAILED } };
    pthread_mutex_lock(&d->pass_mutex);
    const sumi_status st = grow_scratch(d, encoder->scratch_needed, err);
    if (st == SUMI_OK) sumi_pool_run(d->pool, walk_commands, &p);
    pthread_mutex_unlock(&d->pass_mutex);
    if (st == SUMI_OK && atomic_load(&p.error.failed_at) != NOT_FAILED) encoder->run_error = p.error.error;
    return st;
}

static sumi_status cpu_wait(sumi_device *device, sumi_encoder *encoder, sumi_error *err)
{
    (void)device;
    if (encoder->run_error.status && err) *err = encoder->run_error;
    return encoder->run_error.status;
}

static void cpu_free(sumi_device *device)
{
    cpu_device *d = cpu(device);
    sumi_pool_free(d->pool);
    if (d->scratch) cpu_release(device, d->scratch, d->scratch_bytes);
    pthread_mutex_destroy(&d->pass_mutex);
    free(d);
}

static const sumi_backend cpu_backend = {
    .free = cpu_free,
    .alloc = cpu_alloc,
    .release = cpu_release,
    .write = cpu_write,
    .read = cpu_read,
    .upload = cpu_upload,
    .scratch_bytes = cpu_scratch_bytes,
    .submit = cpu_submit,
    .wait = cpu_wait,
};

/* The features to use: all of this CPU's, or those up to the instruction set asked for by name. */
static sumi_status choose_features(const char *isa, uint32_t *features, sumi_error *err)
{
    const uint32_t have = sumi_cpu_features();
    *features = have;
    if (!isa) return SUMI_OK;
    bool known;
    const uint32_t wanted = sumi_kernel_isa_features(isa, &known);
    if (!known)
        return sumi_fail(err, SUMI_EINVAL, "cpu: instruction set '%s' is unknown; known: scalar, avx2, avx512, neon",
                         isa);
    if (wanted & ~have) return sumi_fail(err, SUMI_EINVAL, "cpu: this machine does not have %s", isa);
    *features = wanted;
    return SUMI_OK;
}

sumi_status sumi_cpu_device_open(sumi_device **out, const sumi_device_options *options, sumi_error *err)
{
    uint32_t features;
    sumi_status st = choose_features(options->isa, &features, err);
    if (st) return st;
    cpu_device *d = calloc(1, sizeof *d);
    if (!d) return sumi_fail(err, SUMI_ENOMEM, "cpu: %zu bytes", sizeof *d);
    const int32_t n_threads = options->n_threads ? options->n_threads : sumi_cpu_default_threads("/sys", "/proc");
    st = sumi_pool_new(&d->pool, n_threads, err);
    if (st) {
        free(d);
        return st;
    }
    pthread_mutex_init(&d->pass_mutex, NULL);
    d->kernels = sumi_kernel_select(features);
    d->base = (sumi_device){ .backend = &cpu_backend, .n_threads = n_threads };
    snprintf(d->base.description, sizeof d->base.description, "cpu %s, %" PRId32 " thread%s", d->kernels.isa,
             n_threads, n_threads == 1 ? "" : "s");
    *out = &d->base;
    return SUMI_OK;
}
