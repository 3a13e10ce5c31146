# Brim. `make` builds build/brim; `make help` lists the rest.
#
# Optional libraries are found with pkg-config and left out when missing:
# libyaml (scene files), libpng (pictures), libzstd (smaller checkpoints).

BUILD ?= build
CC ?= cc
OPT ?= -O3
VERSION := 0.1.0
SOVERSION := 0

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith
# No fused multiply-add and no reordered sums: same bits on every instruction set.
MATH := -ffp-contract=off -fno-math-errno -fno-trapping-math
CFLAGS ?= -g
ALL_CFLAGS = -std=gnu17 $(OPT) $(CFLAGS) $(WARN) $(MATH) -fopenmp -fPIC -fvisibility=hidden \
             -D_GNU_SOURCE -Iinclude -Isrc $(PKG_CFLAGS) $(SANITIZE)
LDLIBS = -fopenmp $(PKG_LIBS) -lm $(SANITIZE)

has = $(shell pkg-config --exists $(1) 2>/dev/null && echo yes)
ifeq ($(call has,yaml-0.1),yes)
PKG_CFLAGS += -DBRIM_HAVE_YAML $(shell pkg-config --cflags yaml-0.1)
PKG_LIBS += $(shell pkg-config --libs yaml-0.1)
endif
ifeq ($(call has,libpng),yes)
PKG_CFLAGS += -DBRIM_HAVE_PNG $(shell pkg-config --cflags libpng)
PKG_LIBS += $(shell pkg-config --libs libpng)
endif
ifeq ($(call has,libzstd),yes)
PKG_CFLAGS += -DBRIM_HAVE_ZSTD $(shell pkg-config --cflags libzstd)
PKG_LIBS += $(shell pkg-config --libs libzstd)
endif

ISAS := base
ISA_FLAGS_base :=
ifeq ($(shell $(CC) -dumpmachine | cut -d- -f1),x86_64)
ISAS += avx2 avx512
ISA_FLAGS_avx2 := -mavx2
ISA_FLAGS_avx512 := -mavx512f -mavx512dq -mavx512bw -mavx512vl -mprefer-vector-width=512
endif

SRC := $(shell find src -name '*.c' ! -name '*.simd.c' | sort)
SIMD := $(shell find src -name '*.simd.c' | sort)
OBJ := $(SRC:%.c=$(BUILD)/%.o) $(foreach i,$(ISAS),$(SIMD:%.simd.c=$(BUILD)/%.$(i).o))
CLI_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard cli/*.c)))
TEST_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tests/*.c)))

all: $(BUILD)/brim

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

define simd_rule
$(BUILD)/%.$(1).o: %.simd.c
	@mkdir -p $$(@D)
	$(CC) $(ALL_CFLAGS) $(ISA_FLAGS_$(1)) -DBRIM_ISA_SUFFIX=_$(1) -MMD -MP -c $$< -o $$@
endef
$(foreach i,$(ISAS),$(eval $(call simd_rule,$(i))))

$(BUILD)/libbrim-internal.a: $(OBJ)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/brim: $(CLI_OBJ) $(BUILD)/libbrim-internal.a
	$(CC) $(CLI_OBJ) $(BUILD)/libbrim-internal.a $(LDLIBS) -o $@

$(BUILD)/unit-tests: $(TEST_OBJ) $(BUILD)/libbrim-internal.a
	$(CC) $(TEST_OBJ) $(BUILD)/libbrim-internal.a $(LDLIBS) -o $@

clean:
	rm -rf $(BUILD)

.PHONY: all clean
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
