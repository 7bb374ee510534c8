# Cross build for AArch64 Linux with Debian's compiler, tests under qemu-aarch64.
#
#   cmake -G Ninja -B build-arm64 --toolchain cmake/aarch64-linux-gnu.cmake -DSUMI_SYSROOT=DIR
#
# SUMI_SYSROOT: a folder with the AArch64 packages of the libraries unpacked, as .ci/arm64_sysroot makes one. Programs
# run with the C library in it, too: in the one that Debian 12's cross compiler brings, pthread_create never returns
# under qemu. Without SUMI_SYSROOT only what needs no library can be compiled (SUMI_KERNELS_ONLY, no tests).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SUMI_SYSROOT)

if(SUMI_SYSROOT)
  set(lib ${SUMI_SYSROOT}/usr/lib/aarch64-linux-gnu)
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${SUMI_SYSROOT})
  set(CMAKE_EXE_LINKER_FLAGS_INIT -Wl,-rpath-link,${lib}:${SUMI_SYSROOT}/lib/aarch64-linux-gnu)
  set(ENV{PKG_CONFIG_LIBDIR} ${lib}/pkgconfig:${SUMI_SYSROOT}/usr/share/pkgconfig)
  set(ENV{PKG_CONFIG_SYSROOT_DIR} ${SUMI_SYSROOT})
  set(CMAKE_FIND_ROOT_PATH ${SUMI_SYSROOT} /usr/aarch64-linux-gnu)
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
