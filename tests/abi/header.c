/* The header stands alone, can be included twice, and declares the layout that the library was built with. */
#include "a3s_code.h"
#include "a3s_code.h"

#ifndef __cplusplus
#include <assert.h>
#endif

/* Written by the test from Rust's own figures: a line of static_assert for each size and offset. */
#include "layout.inc"

static_assert(sizeof(a3s_status) == 4, "statuses are 32 bits wide");
static_assert(sizeof(a3s_handle) == 8, "handles are 64 bits wide");
static_assert(A3S_ABI_VERSION == 1, "version");
static_assert(A3S_OK == 0 && A3S_PENDING > 0 && A3S_ERROR < 0, "failures are negative");

int main(void) {
    return a3s_abi_version() == A3S_ABI_VERSION ? 0 : 1;
}
