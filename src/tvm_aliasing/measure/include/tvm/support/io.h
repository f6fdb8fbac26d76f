// The wheel of TVM 0.27 leaves this header out though tvm/runtime/tensor.h includes it. Nothing here
// reads or writes a stream: the inline functions of that header only have to compile.
#pragma once

#include <tvm/ffi/endian.h>

#include <cstddef>

namespace tvm {
namespace support {

struct Stream {
  template <typename T>
  bool Read(T*);
  template <typename T>
  void Write(const T&);
  std::size_t Read(void*, std::size_t);
  void Write(const void*, std::size_t);
  template <typename T>
  bool ReadArray(T*, std::size_t);
  template <typename T>
  void WriteArray(const T*, std::size_t);
};

}  // namespace support
}  // namespace tvm
