#pragma once
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

// Swift does not import macros that are made of other macros.
static const uint32_t ferry_isal_level_2_workspace = ISAL_DEF_LVL2_DEFAULT;
