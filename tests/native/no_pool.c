// Workspaces straight from the heap and back; to be preloaded.
//
// The runtime's pool never gives back what a kernel took, so that later in a call the heap holds
// more than is in use.

#include <stdint.h>
#include <stdlib.h>

void* TVMBackendAllocWorkspace(int device_type, int device, uint64_t size, int code, int bits) {
  (void)device_type, (void)device, (void)code, (void)bits;
  void* buffer = NULL;
  return posix_memalign(&buffer, 64, size) ? NULL : buffer;
}

int TVMBackendFreeWorkspace(int device_type, int device, void* buffer) {
  (void)device_type, (void)device;
  free(buffer);
  return 0;
}
