#pragma once
// MD5 and SHA-256 of several messages at once, with instructions that Swift lacks. All functions process whole blocks of
// 64 bytes; the padding of the last one is the caller's.
#include "md5.h"
#include "sha256.h"
#include "sha256_lanes.h"
#include "sha256_pair.h"
