// Left out of the wheel of TVM 0.27, as io.h is; see there.
#pragma once

#include <tvm/support/io.h>
