// Live bytes of the virtual machine's storages, and their peak.
//
// Every tensor of the virtual machine lies in a storage, and every storage comes from
// vm.builtin.alloc_storage, in bytecode and in compiled mode. This wraps that function, so that each
// storage is counted from then until it is freed. Inputs, weights and the machine's own table of
// symbolic sizes are not storages and not counted.

#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/memory/memory_manager.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>

namespace {

using tvm::Device;
using tvm::runtime::memory::Allocator;
using tvm::runtime::memory::Buffer;
using tvm::runtime::memory::Storage;

std::atomic<int64_t> live{0};
std::atomic<int64_t> peak{0};

// Stands between a storage and its allocator to see the storage freed.
class CountingAllocator final : public Allocator {
 public:
  explicit CountingAllocator(Allocator* inner) : Allocator(inner->type()), inner_(inner) {}

  using Allocator::Alloc;
  Buffer Alloc(Device device, size_t bytes, size_t alignment, DLDataType type) final {
    return inner_->Alloc(device, bytes, alignment, type);
  }
  void* CreateView(const Buffer& buffer, tvm::ffi::Shape shape, DLDataType type,
                   const std::string& scope) final {
    return inner_->CreateView(buffer, shape, type, scope);
  }
  void FreeView(Device device, void* data) final { inner_->FreeView(device, data); }
  void Free(const Buffer& buffer) final {
    live -= static_cast<int64_t>(buffer.size);
    inner_->Free(buffer);
  }
  size_t UsedMemory() const final { return inner_->UsedMemory(); }

 private:
  Allocator* inner_;
};

void Count(const Storage& storage) {
  // Never destroyed: a storage may outlive it at exit.
  static auto* counting = new std::map<Allocator*, CountingAllocator*>();
  auto* object = const_cast<tvm::runtime::memory::StorageObj*>(
      static_cast<const tvm::runtime::memory::StorageObj*>(storage.get()));
  auto& wrapper = (*counting)[object->allocator];
  if (!wrapper) wrapper = new CountingAllocator(object->allocator);
  object->allocator = wrapper;
  live += static_cast<int64_t>(object->buffer.size);
  peak = std::max(peak.load(), live.load());
}

TVM_FFI_STATIC_INIT_BLOCK() {
  static auto* original = new tvm::ffi::Function(
      tvm::ffi::Function::GetGlobalRequired("vm.builtin.alloc_storage"));
  tvm::ffi::Function::SetGlobal(
      "vm.builtin.alloc_storage",
      tvm::ffi::Function::FromPacked([](tvm::ffi::PackedArgs args, tvm::ffi::Any* result) {
        original->CallPacked(args, result);
        Count(result->cast<Storage>());
      }),
      /*override=*/true);
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("tvm_aliasing.live_bytes", []() -> int64_t { return live; })
      .def("tvm_aliasing.peak_bytes", []() -> int64_t { return peak; })
      .def("tvm_aliasing.reset_peak", []() { peak = live.load(); });
}

}  // namespace
