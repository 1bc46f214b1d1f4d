# SPDX-License-Identifier: LGPL-2.1-or-later

# OPJIT_LIB(VAR, PKG-CONFIG-MODULE, DEBIAN-PACKAGE): needs the module, else names the package to install.
AC_DEFUN([OPJIT_LIB],
[PKG_CHECK_MODULES([$1], [$2], [], [AC_MSG_ERROR([$2 not found: install $3])])])

# OPJIT_ARG_JVMTI: --with-java=DIR, --without-jvmti. Any JDK below /usr/lib/jvm serves: the agent is
# compiled against jvmti.h alone and works on every version.
AC_DEFUN([OPJIT_ARG_JVMTI],
[AC_ARG_WITH([jvmti], [AS_HELP_STRING([--without-jvmti], [do not build the Java agent])], [], [with_jvmti=yes])
AC_ARG_WITH([java], [AS_HELP_STRING([--with-java=DIR], [JDK to take jvmti.h from (default: first under /usr/lib/jvm)])], [], [with_java=])
JVMTI_INCLUDE=
JVMTI_CPPFLAGS=
AS_IF([test "x$with_jvmti" != xno], [
  AC_MSG_CHECKING([for jvmti.h])
  AS_CASE([$with_java], [yes|no], [with_java=])
  for opjit_jdk in ${with_java:+"$with_java"} ${JAVA_HOME:+"$JAVA_HOME"} /usr/lib/jvm/default-java /usr/lib/jvm/*; do
    AS_IF([test -z "$JVMTI_INCLUDE" && test -f "$opjit_jdk/include/jvmti.h"], [JVMTI_INCLUDE="$opjit_jdk/include"])
    AS_IF([test -n "$with_java"], [break])
  done
  AS_IF([test -z "$JVMTI_INCLUDE"], [
    AC_MSG_RESULT([no])
    AC_MSG_ERROR([jvmti.h not found: install openjdk-17-jdk-headless, or give --with-java=DIR or --without-jvmti])])
  AC_MSG_RESULT([$JVMTI_INCLUDE])
  JVMTI_CPPFLAGS="-isystem $JVMTI_INCLUDE -isystem $JVMTI_INCLUDE/linux"])
AC_SUBST([JVMTI_CPPFLAGS])
AM_CONDITIONAL([WITH_JVMTI], [test -n "$JVMTI_INCLUDE"])])

# OPJIT_ARG_MONO: --without-mono.
AC_DEFUN([OPJIT_ARG_MONO],
[AC_ARG_WITH([mono], [AS_HELP_STRING([--without-mono], [do not build the Mono agent])], [], [with_mono=yes])
MONO_STATUS="no (agents/mono is not built)"
MONO_CPPFLAGS=
AS_IF([test "x$with_mono" != xno], [
  PKG_CHECK_MODULES([MONO], [mono-2], [MONO_STATUS=yes],
    [AC_MSG_ERROR([mono-2 not found: install libmono-2.0-dev, or give --without-mono])])
  MONO_CPPFLAGS=$(AS_ECHO(["$MONO_CFLAGS"]) | sed 's/-I/-isystem /g')])
AC_SUBST([MONO_CPPFLAGS])
AM_CONDITIONAL([WITH_MONO], [test "x$with_mono" != xno])])

# OPJIT_ARG_CHECKED_BUILD: --enable-sanitizers, --enable-tsan, --enable-fuzzer.
AC_DEFUN([OPJIT_ARG_CHECKED_BUILD],
[OPJIT_CHECKED=
SANITIZE_CFLAGS=
FUZZ_LDFLAGS=
AC_ARG_ENABLE([sanitizers], [AS_HELP_STRING([--enable-sanitizers], [build with ASan and UBSan])])
AC_ARG_ENABLE([tsan], [AS_HELP_STRING([--enable-tsan], [build with TSan])])
AC_ARG_ENABLE([fuzzer], [AS_HELP_STRING([--enable-fuzzer], [build fuzz targets with libFuzzer (CC=clang)])])
AS_IF([test "x$enable_sanitizers" = xyes], [OPJIT_CHECKED="ASan and UBSan"
  SANITIZE_CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"])
AS_IF([test "x$enable_tsan" = xyes], [OPJIT_CHECKED="TSan"
  SANITIZE_CFLAGS="-fsanitize=thread -fno-omit-frame-pointer"])
AS_IF([test "x$enable_fuzzer" = xyes], [OPJIT_CHECKED="libFuzzer, ASan and UBSan"
  SANITIZE_CFLAGS="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"
  FUZZ_LDFLAGS="-fsanitize=fuzzer"])
AC_SUBST([SANITIZE_CFLAGS])
AC_SUBST([FUZZ_LDFLAGS])
AM_CONDITIONAL([SANITIZED], [test -n "$OPJIT_CHECKED"])
AM_CONDITIONAL([FUZZER], [test "x$enable_fuzzer" = xyes])])
