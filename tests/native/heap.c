// Counts what lies on the heap, as malloc sees it; to be preloaded. For glibc.

#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>

extern void* __libc_malloc(size_t size);
extern void* __libc_calloc(size_t count, size_t size);
extern void* __libc_realloc(void* block, size_t size);
extern void* __libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void* block);

static int64_t live = 0, peak = 0;

static void* Add(void* block) {
  if (!block) return block;
  int64_t size = (int64_t)malloc_usable_size(block);
  int64_t now = __atomic_add_fetch(&live, size, __ATOMIC_SEQ_CST);
  int64_t most = __atomic_load_n(&peak, __ATOMIC_SEQ_CST);
  while (now > most && !__atomic_compare_exchange_n(&peak, &most, now, 0, __ATOMIC_SEQ_CST,
                                                    __ATOMIC_SEQ_CST)) {
  }
  return block;
}

static void Remove(int64_t size) { __atomic_sub_fetch(&live, size, __ATOMIC_SEQ_CST); }

void* malloc(size_t size) { return Add(__libc_malloc(size)); }

void* calloc(size_t count, size_t size) { return Add(__libc_calloc(count, size)); }

void* realloc(void* block, size_t size) {
  int64_t before = block ? (int64_t)malloc_usable_size(block) : 0;
  void* moved = __libc_realloc(block, size);
  if (moved || size == 0) Remove(before);
  return Add(moved);
}

void free(void* block) {
  if (block) Remove((int64_t)malloc_usable_size(block));
  __libc_free(block);
}

void* memalign(size_t alignment, size_t size) { return Add(__libc_memalign(alignment, size)); }

void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void** block, size_t alignment, size_t size) {
  void* found = memalign(alignment, size);
  if (!found) return ENOMEM;
  *block = found;
  return 0;
}

int64_t heap_live(void) { return __atomic_load_n(&live, __ATOMIC_SEQ_CST); }

int64_t heap_peak(void) { return __atomic_load_n(&peak, __ATOMIC_SEQ_CST); }

void heap_reset_peak(void) { __atomic_store_n(&peak, heap_live(), __ATOMIC_SEQ_CST); }
