#!/bin/bash
# Installs into a staging folder and builds a program against what lies there, as a user would: with
# pkg-config, shared and static, and with CMake. Checks that both libraries show brim_* alone.
#
#   tests/install.sh [BUILD]
set -u
cd "$(dirname "$0")/.."
build=${1:-build}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
log=$stage/log
root=$stage/usr/local
export PKG_CONFIG_PATH=$root/lib/pkgconfig
passed=0
failed=0

# check WHAT COMMAND...
check() {
    local what=$1
    shift
    if "$@" >"$log" 2>&1; then
        echo "ok   install: $what"
        passed=$((passed + 1))
    else
        cat "$log"
        echo "FAIL install: $what"
        failed=$((failed + 1))
    fi
}

install_staged() {
    make --no-print-directory BUILD="$build" DESTDIR="$stage" PREFIX=/usr/local install
}

# A program that calls into the library: creates a small tank, takes a frame, prints a line.
write_program() {
    cat >"$stage/main.c" <<'END'
#include <brim/brim.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    BrimLiquidDef water = {.shape = brim_default_shape_def()};
    water.shape.size = (BrimVec3){0.5f, 0.5f, 0.5f};
    water.shape.position = (BrimVec3){0.25f, 0.25f, 0.25f};
    BrimSimDef def = brim_default_sim_def();
    def.cells[0] = def.cells[1] = def.cells[2] = 16;
    def.size = (BrimVec3){1.0f, 1.0f, 1.0f};
    def.liquid = &water, def.liquid_count = 1;
    BrimError error;
    BrimSim *sim = NULL;
    if (brim_sim_create(&def, &sim, &error) || brim_sim_advance_frame(sim, &error)) {
        puts(error.message);
        return 1;
    }
    size_t count = brim_sim_particles(sim).count;
    printf("brim %s: %zu particles\n", brim_version(), count);
    brim_sim_destroy(&sim);
    return count != 8 * 8 * 8 * 8 || strcmp(brim_version(), BRIM_VERSION_STRING) != 0;
}
END
}

shared_by_pkg_config() {
    # shellcheck disable=SC2046
    gcc "$stage/main.c" $(pkg-config --cflags --libs brim) -o "$stage/shared" &&
        readelf -d "$stage/shared" | grep -q 'NEEDED.*libbrim.so' &&
        LD_LIBRARY_PATH=$root/lib "$stage/shared"
}

example_runs() {
    # shellcheck disable=SC2046
    gcc examples/dam_break.c $(pkg-config --cflags --libs brim) -o "$stage/dam_break" &&
        LD_LIBRARY_PATH=$root/lib "$stage/dam_break" | tee /dev/stderr | tail -n 1 | grep -q 'frame 48'
}

# The example is the program in the comment that opens brim.h.
example_is_in_header() {
    diff <(sed -n '/^\/\/   #include <brim/,/^\/\/   }/p' include/brim/brim.h | sed 's|^// \{0,3\}||') \
        <(sed 1d examples/dam_break.c)
}

# The lines of docs/api.md as they stand there: "shared" or "static".
line_of_manual() {
    sed -n "s/^cc main.c \(.*[^ ]\) *# $1\$/\1/p" docs/api.md
}

shared_as_documented() {
    local line
    line=$(line_of_manual shared) && [ -n "$line" ] &&
        eval "gcc $stage/main.c $line -o $stage/shared2" &&
        readelf -d "$stage/shared2" | grep -q 'NEEDED.*libbrim.so'
}

static_as_documented() {
    local line
    line=$(line_of_manual static) && [ -n "$line" ] &&
        eval "gcc $stage/main.c $line -o $stage/static" &&
        ! readelf -d "$stage/static" | grep -q 'NEEDED.*libbrim' && "$stage/static"
}

# An ldconfig that knows /usr/local/lib and notes how it is called otherwise.
fake_ldconfig() {
    mkdir -p "$stage/sbin" && cat >"$stage/sbin/ldconfig" <<END
#!/bin/sh
if [ "\$1" = -v ]; then echo "/usr/local/lib: (from <builtin>)"; else echo "called \$*" >>"$stage/loader"; fi
END
    chmod +x "$stage/sbin/ldconfig"
}

# To a folder of one's own: nothing is told to the system's loader, and what to do is said.
own_prefix_is_not_registered() {
    fake_ldconfig
    PATH=$stage/sbin:$PATH make --no-print-directory BUILD="$build" PREFIX="$stage/own" install |
        grep -q "LD_LIBRARY_PATH=$stage/own/lib" && [ ! -e "$stage/loader" ] &&
        make --no-print-directory PREFIX="$stage/own" uninstall
}

by_cmake() {
    mkdir "$stage/cmake" || return 1
    cat >"$stage/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.13)
project(user C)
find_package(brim 0.1 REQUIRED)
add_executable(with-shared main.c)
target_link_libraries(with-shared brim::brim)
add_executable(with-static main.c)
target_link_libraries(with-static brim::static)
END
    cmake -S "$stage" -B "$stage/cmake" -DCMAKE_PREFIX_PATH="$root" &&
        cmake --build "$stage/cmake" && "$stage/cmake/with-shared" && "$stage/cmake/with-static"
}

# Defined, global symbols that are not brim_*; succeeds when there are none.
only_brim() {
    ! nm "$@" --defined-only --extern-only | awk 'NF == 3 && $3 !~ /^brim_/ { print $3 }' | grep .
}

some_brim() {
    nm "$@" --defined-only --extern-only | grep -q ' T brim_sim_step$'
}

# As C++ and with no more than the header's own includes.
header_alone() {
    echo '#include <brim/brim.h>' >"$stage/header.cpp"
    "$cxx" -std=c++17 -x c++ -Wall -Wextra -Werror -fsyntax-only -I"$root/include" "$stage/header.cpp"
}

uninstall_leaves_nothing() {
    make --no-print-directory DESTDIR="$stage" PREFIX=/usr/local uninstall &&
        ! find "$root" -not -type d | grep .
}

check "make install" install_staged
write_program
check "program with pkg-config, shared" shared_by_pkg_config
check "program linked as docs/api.md says, shared" shared_as_documented
check "program linked as docs/api.md says, static" static_as_documented
check "a folder of one's own is not told to the loader" own_prefix_is_not_registered
if command -v cmake >/dev/null; then
    check "program with CMake, shared and static" by_cmake
else
    echo "skip install: program with CMake, cmake is not installed"
fi
check "example runs" example_runs
check "example is the one in brim.h" example_is_in_header
check "libbrim.a shows brim_* alone" only_brim "$root/lib/libbrim.a"
check "libbrim.a shows brim_*" some_brim "$root/lib/libbrim.a"
check "libbrim.so shows brim_* alone" only_brim -D "$root/lib/libbrim.so"
check "libbrim.so shows brim_*" some_brim -D "$root/lib/libbrim.so"
check "installed command runs" "$root/bin/brim" --version
cxx=$(command -v g++ || command -v clang++)
if [ -n "$cxx" ]; then
    check "brim.h compiles as C++" header_alone
else
    echo "skip install: brim.h as C++, no C++ compiler is installed"
fi
check "make uninstall leaves nothing" uninstall_leaves_nothing
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
