# Brim. `make` builds build/brim; `make help` lists the rest.
#
# Optional libraries are found with pkg-config and left out when missing:
# libyaml (scene files), libpng (pictures), libzstd (smaller checkpoints), libwebsockets (brim live;
# its page where npm packages are there); Embree 3 (ray-traced pictures) and OpenVDB (.vdb files; the one part in C++) by their headers, the latter only with
# OPENVDB=yes.
#
# Knobs: BUILD, CC, CXX, OPT, CPPFLAGS, CFLAGS, LDFLAGS, PREFIX, LIBDIR, DESTDIR; V=1 shows commands.

BUILD ?= build
OPT ?= -O3
CFLAGS ?= -g
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR ?= $(PREFIX)/share
OBJCOPY ?= objcopy

VERSION := $(shell sed -n 's/^.define BRIM_VERSION_STRING "\(.*\)"/\1/p' include/brim/brim.h)
SOVERSION := 0
SONAME := libbrim.so.$(SOVERSION)

CORES := $(shell nproc 2>/dev/null || echo 1)
# Goals that install what is missing first, and only then, in a second make, look for libraries.
STAGED := demo test test-sanitize test-fields test-threads test-isa test-clients test-viewer fuzz bench bench-river validate
PLAIN := clean help format check-format setup uninstall
BUILDS := $(filter-out $(STAGED) $(PLAIN),$(or $(MAKECMDGOALS),all))
# Builds use all cores unless a make above already deals them out.
ifneq ($(BUILDS),)
MAKEFLAGS += $(if $(findstring jobserver,$(shell echo "$$MAKEFLAGS")),,-j$(CORES))
endif
Q := $(if $(V),,@)
# The C++ compiler that belongs to CC.
ifeq ($(origin CXX),default)
CXX := $(if $(findstring clang,$(CC)),$(subst clang,clang++,$(CC)),g++)
endif

# -------------------------------------------------------------------------------------- flags

# No note on vectors as arguments: they never leave the file that was compiled for them.
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wno-psabi
# Tasks of a team take what all of them are given; not each has use for it.
WARN += -Wno-unused-parameter
# No fused multiply-add and no reordered sums: same bits on every instruction set.
MATH := -ffp-contract=off -fno-math-errno -fno-trapping-math
ALL_CFLAGS = -std=gnu17 $(OPT) $(CFLAGS) $(WARN) $(MATH) -pthread -fPIC -fvisibility=hidden \
             -D_GNU_SOURCE -Iinclude $(CPPFLAGS) $(PKG_CFLAGS) $(SANITIZE)
# The same for the C++ file, less the warnings that C alone has. Without debug information and -O3
# its many templates compile in a third of the time.
ALL_CXXFLAGS = -std=c++17 $(subst -std=gnu17,,$(filter-out -Wstrict-prototypes -Wmissing-prototypes \
               -Wshadow,$(ALL_CFLAGS))) $(if $(SANITIZE),,-O2 -g0) -Isrc
LIBS = -pthread $(PKG_LIBS) -lm
# Only the library itself and its tests see internal headers; the rest has brim.h alone.
INTERNAL = $(if $(filter src/% tests/% fuzz/% bench/pressure.c bench/bandwidth.c,$<),-Isrc) \
           $(if $(filter cli/% tests/% fuzz/%,$<),-Icli)

# pkg-config name, macro, what goes without it
ifneq ($(BUILDS),)
define find_package
ifeq ($$(shell pkg-config --exists $(1) 2>/dev/null && echo yes),yes)
PKG_CFLAGS += -DBRIM_HAVE_$(2) $$(shell pkg-config --cflags $(1))
PKG_LIBS += $$(shell pkg-config --libs $(1))
PKG_STATIC += $$(shell pkg-config --static --libs $(1))
else
$$(info note: building without $(1): $(3). `scripts/setup.sh` installs it)
endif
endef
$(eval $(call find_package,yaml-0.1,YAML,no scene files))
$(eval $(call find_package,libpng,PNG,no pictures))
$(eval $(call find_package,libzstd,ZSTD,larger checkpoints))
# The server of brim live and brim view is the command's alone: the library does not link it.
ifeq ($(shell pkg-config --exists libwebsockets 2>/dev/null && echo yes),yes)
CLI_CFLAGS := -DBRIM_HAVE_WEBSOCKETS $(shell pkg-config --cflags libwebsockets)
CLI_LIBS := $(shell pkg-config --libs libwebsockets)
# Its page is built where npm has fetched what that takes.
ifneq ($(wildcard viewer/node_modules/.package-lock.json),)
PAGE := $(BUILD)/viewer/page
CLI_CFLAGS += -DBRIM_VIEWER='"$(abspath $(BUILD)/viewer)"'
else
$(info note: building without the page of brim live. `scripts/setup.sh --page` gets what it needs)
endif
else
$(info note: building without libwebsockets: no brim live, no brim view. `scripts/setup.sh` installs it)
endif
# Embree 3 has no pkg-config file.
ifeq ($(shell echo '\#include <embree3/rtcore.h>' | $(CC) $(CPPFLAGS) -E -x c - >/dev/null 2>&1 && echo yes),yes)
PKG_CFLAGS += -DBRIM_HAVE_EMBREE
PKG_LIBS += -lembree3
PKG_STATIC += -lembree3
else
$(info note: building without embree3: no ray-traced pictures. `scripts/setup.sh` installs it)
endif
# OpenVDB has none either; its headers need those of Boost. Only when asked for: its libraries bring
# an allocator and address space of their own.
OPENVDB ?= no
ifeq ($(OPENVDB) $(shell printf '\#include <%s>\n' openvdb/version.h boost/uuid/uuid.hpp | $(CXX) $(CPPFLAGS) -E -x c++ - >/dev/null 2>&1 && echo yes),yes yes)
PKG_CFLAGS += -DBRIM_HAVE_VDB
PKG_LIBS += -lopenvdb -ltbb -lImath-3_1 -lstdc++
PKG_STATIC += -lopenvdb -ltbb -lImath-3_1 -lstdc++
CXX_SRC := src/vdb/vdb.cc
else
$(info note: building without openvdb: no .vdb files. `scripts/setup.sh --vdb` installs it)
endif

ISAS := base
ifeq ($(shell $(CC) -dumpmachine | cut -d- -f1),x86_64)
ISAS += avx2 avx512
ISA_FLAGS_avx2 := -mavx2
ISA_FLAGS_avx512 := -mavx512f -mavx512dq -mavx512bw -mavx512vl -mprefer-vector-width=512
endif
endif

# -------------------------------------------------------------------------------------- files

objects = $(patsubst %.c,$(BUILD)/%.o,$(sort $(1)))
SRC := $(shell find src -name '*.c' ! -name '*.simd.c')
SIMD := $(sort $(shell find src -name '*.simd.c'))
OBJ := $(call objects,$(SRC)) $(CXX_SRC:%.cc=$(BUILD)/%.o) $(foreach i,$(ISAS),$(SIMD:%.simd.c=$(BUILD)/%.$(i).o))
CLI_OBJ := $(call objects,$(wildcard cli/*.c cli/live/*.c))
TEST_OBJ := $(call objects,$(wildcard tests/*.c))
# Parts of the command that are tested and fuzzed by themselves: they know neither server nor screen.
LIVE_OBJ := $(foreach f,access frame hub message order,$(BUILD)/cli/live/$(f).o)
BENCH_OBJ := $(call objects,$(filter-out bench/validate.c,$(wildcard bench/*.c)))
EXAMPLES := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard examples/*.c)))
FUZZERS := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard fuzz/fuzz_*.c)))
C_FILES = $(shell find include src cli tests bench examples fuzz -name '*.[ch]' -o -name '*.cc')

all: $(BUILD)/brim
lib: $(BUILD)/libbrim.a $(BUILD)/libbrim.so
examples: $(EXAMPLES)
tests: $(BUILD)/unit-tests $(BUILD)/live-client
fuzzers: $(FUZZERS)

# Stamps: one changes with compiler, flags and libraries, the other with the list of sources.
FLAGS := $(BUILD)/flags
CLI_FLAGS := $(BUILD)/cli-flags
FILES := $(BUILD)/files
ifneq ($(BUILDS),)
define stamp
ifneq ($$(strip $$(file <$(1))),$(strip $(2)))
$$(shell mkdir -p $(BUILD))
$$(file >$(1),$(strip $(2)))
endif
endef
$(eval $(call stamp,$(FLAGS),$(shell $(CC) --version | head -n 1) $(ALL_CFLAGS) $(LDFLAGS) $(LIBS)))
$(eval $(call stamp,$(CLI_FLAGS),$(CLI_CFLAGS) $(CLI_LIBS)))
$(eval $(call stamp,$(FILES),$(OBJ) $(CLI_OBJ) $(TEST_OBJ) $(BENCH_OBJ)))
endif

$(BUILD)/%.o: %.c $(FLAGS)
	@mkdir -p $(@D)
	$(if $(V),,@echo "  CC  $<")
	$(Q)$(CC) $(ALL_CFLAGS) $(OWN_CFLAGS) $(INTERNAL) -MMD -MP -c $< -o $@

$(BUILD)/cli/live/%.o: OWN_CFLAGS = $(CLI_CFLAGS)
$(call objects,$(wildcard cli/live/*.c)): $(CLI_FLAGS)
$(BUILD)/cli/live/assets.o: $(PAGE)

# Three files, compressed, for the command to embed.
$(BUILD)/viewer/page: $(wildcard viewer/*.json viewer/*.ts viewer/*.html viewer/src/*)
	@mkdir -p $(@D)
	$(if $(V),,@echo "  NPM viewer")
	$(Q)cd viewer && npx --no-install vite build --logLevel warn --emptyOutDir \
	    --outDir $(abspath $(@D))
	$(Q)cd $(@D) && gzip -9 -n -f index.html viewer.js viewer.css && touch page

$(BUILD)/%.o: %.cc $(FLAGS)
	@mkdir -p $(@D)
	$(if $(V),,@echo "  CXX $<")
	$(Q)$(CXX) $(ALL_CXXFLAGS) -MMD -MP -c $< -o $@

define simd_rule
$(BUILD)/%.$(1).o: %.simd.c $(FLAGS)
	@mkdir -p $$(@D)
	$(if $(V),,@echo "  CC  $$< ($(1))")
	$(Q)$(CC) $$(ALL_CFLAGS) $(ISA_FLAGS_$(1)) -Isrc -DBRIM_ISA_SUFFIX=_$(1) -MMD -MP -c $$< -o $$@
endef
$(foreach i,$(ISAS),$(eval $(call simd_rule,$(i))))

# With every internal symbol, for tests and fuzzing.
$(BUILD)/libbrim-internal.a: $(OBJ) $(FILES)
	@rm -f $@
	$(if $(V),,@echo "  AR  $@")
	$(Q)$(AR) rcs $@ $(OBJ)

# One object in which all but the BRIM_API symbols are local, as in the shared library. Templates
# of C++ would show in both without being told.
$(BUILD)/libbrim.a: $(OBJ) $(FILES)
	@rm -f $@
	$(if $(V),,@echo "  AR  $@")
	$(Q)$(LD) -r $(if $(CXX_SRC),--force-group-allocation) $(OBJ) -o $(BUILD)/libbrim.o
	$(Q)$(OBJCOPY) $(if $(CXX_SRC),-w --keep-global-symbol='brim_*',--localize-hidden) \
	    $(BUILD)/libbrim.o
	$(Q)$(AR) rcs $@ $(BUILD)/libbrim.o

$(BUILD)/libbrim.so.$(VERSION): $(OBJ) $(FILES)
	$(if $(V),,@echo "  LD  $@")
	$(Q)$(CC) -shared -Wl,-soname,$(SONAME) $(if $(SANITIZE),,-Wl,-z,defs) \
	    $(if $(CXX_SRC),-Wl$(comma)--version-script=src/vdb/exports) $(SANITIZE) $(LDFLAGS) \
	    $(OBJ) $(LIBS) -o $@

$(BUILD)/libbrim.so: $(BUILD)/libbrim.so.$(VERSION)
	$(Q)ln -sf $(<F) $(BUILD)/$(SONAME)
	$(Q)ln -sf $(SONAME) $@

# What a program shows of C++ templates would take the place of OpenVDB's own: it shows none.
link = $(CC) $(SANITIZE) $(LDFLAGS) $(if $(CXX_SRC),-Wl$(comma)--exclude-libs$(comma)ALL) \
       $(filter-out $(FILES),$^) $(LIBS) -o $@
comma := ,

$(BUILD)/brim: $(CLI_OBJ) $(BUILD)/libbrim.a $(FILES)
	$(if $(V),,@echo "  LD  $@")
	$(Q)$(link) $(CLI_LIBS)

# The tests let allocations and threads fail, and run more threads than there are cores.
WRAP := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc \
        -Wl,--wrap=pthread_create,--wrap=team_cores,--wrap=ZSTD_createDCtx
$(BUILD)/unit-tests: $(TEST_OBJ) $(LIVE_OBJ) $(BUILD)/libbrim-internal.a $(FILES)
	$(if $(V),,@echo "  LD  $@")
	$(Q)$(link) $(WRAP)

# A viewer without a screen, for tests of the server.
$(BUILD)/live-client: $(BUILD)/tests/live/client.o
	$(if $(V),,@echo "  LD  $@")
	$(Q)$(CC) $(SANITIZE) $(LDFLAGS) $^ -lm -o $@

$(BUILD)/bench/bench: $(BENCH_OBJ) $(BUILD)/libbrim-internal.a $(FILES)
	$(if $(V),,@echo "  LD  $@")
	$(Q)$(link)

$(BUILD)/validate: $(BUILD)/bench/validate.o $(BUILD)/libbrim.a
	$(if $(V),,@echo "  LD  $@")
	$(Q)$(link)

$(EXAMPLES): $(BUILD)/examples/%: $(BUILD)/examples/%.o $(BUILD)/libbrim.a
	$(if $(V),,@echo "  LD  $@")
	$(Q)$(link)

$(FUZZERS): $(BUILD)/fuzz/%: $(BUILD)/fuzz/%.o $(LIVE_OBJ) $(BUILD)/libbrim-internal.a
	$(if $(V),,@echo "  LD  $@")
	$(Q)$(link) -fsanitize=fuzzer

-include $(patsubst %.o,%.d,$(OBJ) $(CLI_OBJ) $(TEST_OBJ) $(BENCH_OBJ) $(addsuffix .o,$(EXAMPLES) $(FUZZERS)) \
             $(BUILD)/bench/validate.o $(BUILD)/tests/live/client.o)

# -------------------------------------------------------------------------- set-up, then build

# By itself it also gets what the page of brim live is built with, where npm is there.
setup:
	@scripts/setup.sh $(if $(filter setup,$(MAKECMDGOALS)),--page-here)

$(filter-out fuzz test-clients test-viewer,$(STAGED)): setup

demo:
	@$(MAKE) --no-print-directory all
	@scripts/demo.sh $(BUILD)

test:
	@$(MAKE) --no-print-directory all lib tests
	@scripts/test.sh $(BUILD)

SANITIZED = BUILD=$(BUILD)/sanitize OPT=-O1 \
            SANITIZE="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"
test-sanitize:
	@$(MAKE) --no-print-directory $(SANITIZED) all tests
	@scripts/test.sh --sanitize $(BUILD)/sanitize

# Fields on pages of their own: stages that touch what they do not declare are caught, and scenes
# whose dead fields are not numbers must give the same bits. One thread: the handler must run in it.
GUARDED = BUILD=$(BUILD)/guard OPT=-O2 CPPFLAGS="$(CPPFLAGS) -DBRIM_GUARD"
test-fields:
	@$(MAKE) --no-print-directory all
	@$(MAKE) --no-print-directory $(GUARDED) all tests
	@scripts/test-fields.sh $(BUILD)

test-threads:
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/threads OPT=-O1 \
	    SANITIZE="-fsanitize=thread -fno-omit-frame-pointer" all tests
	@scripts/test-threads.sh $(BUILD)/threads

test-isa:
	@$(MAKE) --no-print-directory all
	@scripts/test-isa.sh $(BUILD)

fuzz:
	@scripts/setup.sh --test
	@fuzz/run.sh $(BUILD)/fuzz $(or $(SECONDS),60)

# Programs that open our files, with OpenVDB built in. They are large, hence not part of `make test`.
test-clients:
	@scripts/setup.sh --clients
	@$(MAKE) --no-print-directory OPENVDB=yes all addon
	@tests/clients/run.sh $(BUILD)

# The add-on for Blender, to be installed from its preferences.
ADDON := $(BUILD)/brim-blender.zip
addon: $(ADDON)
$(ADDON): $(wildcard addons/blender/brim/*.py)
	@rm -rf $(BUILD)/addon && mkdir -p $(BUILD)/addon/brim && cp $^ $(BUILD)/addon/brim
	@cd $(BUILD)/addon && python3 -m zipfile -c ../brim-blender.zip brim
	@echo 'made $@: in Blender, Edit > Preferences > Add-ons > Install'

# The page: types, format, unit tests. Needs what scripts/setup.sh --page gets.
test-viewer:
	@scripts/setup.sh --page
	@cd viewer && npx --no-install tsc --noEmit && npx --no-install prettier --check . && \
	    npx --no-install vitest run

bench:
	@$(MAKE) --no-print-directory $(BUILD)/bench/bench
	@$(BUILD)/bench/bench $(BENCH)

validate:
	@$(MAKE) --no-print-directory $(BUILD)/validate
	@$(BUILD)/validate $(VALIDATE)

bench-river:
	@$(MAKE) --no-print-directory $(BUILD)/bench/bench
	@$(BUILD)/bench/bench river

# ------------------------------------------------------------------------------------ install

relative = $(shell realpath -m --relative-to=$(1) $(2))
SUBSTITUTE = sed -e 's|@VERSION@|$(VERSION)|g' -e 's|@SONAME@|$(SONAME)|g' \
    -e 's|@LIBS_PRIVATE@|$(strip $(PKG_STATIC) -pthread -lm)|g' \
    -e 's|@PC_TO_PREFIX@|$(call relative,$(LIBDIR)/pkgconfig,$(PREFIX))|g' \
    -e 's|@CMAKE_TO_PREFIX@|$(call relative,$(LIBDIR)/cmake/brim,$(PREFIX))|g' \
    -e 's|@LIBDIR@|$(call relative,$(PREFIX),$(LIBDIR))|g' \
    -e 's|@INCLUDEDIR@|$(call relative,$(PREFIX),$(INCLUDEDIR))|g'
TO = $(DESTDIR)

# The loader's cache is renewed only when it holds LIBDIR anyway; no folder is added to it.
define tell_loader
PATH="$$PATH:/usr/sbin:/sbin"; \
if ldconfig -v -N -X 2>/dev/null | grep -q '^$(abspath $(LIBDIR)):'; then \
    ldconfig 2>/dev/null || echo 'note: run ldconfig as root, so that programs find libbrim.so'; \
else \
    echo 'note: the system does not look for libraries in $(LIBDIR): link programs with'; \
    echo '  -Wl,-rpath,$(LIBDIR) or start them with LD_LIBRARY_PATH=$(LIBDIR)'; \
fi
endef

install: all lib
	install -d $(TO)$(BINDIR) $(TO)$(INCLUDEDIR)/brim $(TO)$(LIBDIR)/pkgconfig \
	    $(TO)$(LIBDIR)/cmake/brim $(TO)$(DATADIR)/brim/scenes \
	    $(TO)$(DATADIR)/bash-completion/completions
	install -m 755 $(BUILD)/brim $(TO)$(BINDIR)/brim
	install -m 644 include/brim/brim.h $(TO)$(INCLUDEDIR)/brim/brim.h
	install -m 644 $(BUILD)/libbrim.a $(TO)$(LIBDIR)/libbrim.a
	install -m 755 $(BUILD)/libbrim.so.$(VERSION) $(TO)$(LIBDIR)/libbrim.so.$(VERSION)
	ln -sf libbrim.so.$(VERSION) $(TO)$(LIBDIR)/$(SONAME)
	ln -sf $(SONAME) $(TO)$(LIBDIR)/libbrim.so
	$(SUBSTITUTE) cmake/brim.pc.in > $(TO)$(LIBDIR)/pkgconfig/brim.pc
	$(SUBSTITUTE) cmake/brim-config.cmake.in > $(TO)$(LIBDIR)/cmake/brim/brim-config.cmake
	$(SUBSTITUTE) cmake/brim-config-version.cmake.in \
	    > $(TO)$(LIBDIR)/cmake/brim/brim-config-version.cmake
	install -m 644 $(wildcard scenes/*) $(TO)$(DATADIR)/brim/scenes/
	install -m 644 scripts/completion.bash $(TO)$(DATADIR)/bash-completion/completions/brim
	@$(if $(DESTDIR),,$(tell_loader))

uninstall:
	rm -f $(TO)$(BINDIR)/brim $(TO)$(LIBDIR)/libbrim.a $(TO)$(LIBDIR)/libbrim.so* \
	    $(TO)$(LIBDIR)/pkgconfig/brim.pc $(TO)$(DATADIR)/bash-completion/completions/brim
	rm -rf $(TO)$(INCLUDEDIR)/brim $(TO)$(LIBDIR)/cmake/brim $(TO)$(DATADIR)/brim

# --------------------------------------------------------------------------------------- rest

format:
	clang-format -i $(C_FILES)

check-format:
	clang-format --dry-run -Werror $(C_FILES)

clean:
	rm -rf $(BUILD)

help:
	@echo 'make                builds build/brim, the command'
	@echo 'make demo           sets up, builds, runs scenes/dam.yaml and draws a frame of it'
	@echo 'make test           sets up, builds and runs all tests'
	@echo 'make test-sanitize  the unit and command tests under AddressSanitizer and UBSan'
	@echo 'make test-fields    stages touch only the fields that they declare, none reads a dead one'
	@echo 'make test-threads   tests of what runs on several threads, under ThreadSanitizer'
	@echo 'make test-isa       all scenes give the same bits on each instruction set of this processor'
	@echo 'make test-clients   installs ParaView, Blender, Chromium (3 GB) and opens our files in them'
	@echo 'make test-viewer    the page of brim live: types, format, tests'
	@echo 'make fuzz           fuzzes the parsers with clang, SECONDS=60 each'
	@echo 'make bench          measures speed and memory; BENCH="NAME ..." picks parts'
	@echo 'make validate       water against exact and measured answers; VALIDATE="NAME ..."'
	@echo 'make bench-river    the river at full size: long, several GiB'
	@echo 'make lib            build/libbrim.so and build/libbrim.a'
	@echo 'make addon          build/brim-blender.zip, the add-on for Blender'
	@echo 'make examples       build/examples/*, programs that use the library'
	@echo 'make install        to PREFIX=$(PREFIX) (DESTDIR for staging); uninstall takes it away'
	@echo 'make setup          installs the Debian packages that a full build wants'
	@echo 'make format         clang-format; check-format only looks'
	@echo 'make clean          removes $(BUILD)/'

.PHONY: all lib examples tests addon fuzzers setup $(STAGED) install uninstall format check-format \
        clean help
.SECONDARY:
