"""Functions that clang knows without a declaration, which therefore no variable can be named after: a map is one."""

from __future__ import annotations

_OF_EVERY_PRECISION = (
    "acos acosh asin asinh atan atan2 atanh cabs cacos cacosh carg casin casinh catan catanh cbrt ccos ccosh ceil "
    "cexp cimag clog conj copysign cos cosh cpow cproj creal csin csinh csqrt ctan ctanh erf erfc exp exp2 expm1 "
    "fabs fdim finite floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 "
    "logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo rint round roundeven scalbln "
    "scalbn sin sinh sqrt tan tanh tgamma trunc"
).split()

LIBRARY_FUNCTIONS = frozenset((
    "abort abs aligned_alloc alloca bcmp bcopy bzero calloc exit fopen fprintf fread free fscanf fwrite index "
    "isalnum isalpha isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit labs llabs "
    "malloc memalign memccpy memchr memcmp memcpy memmove mempcpy memset printf realloc rindex scanf snprintf "
    "sprintf sscanf stpcpy stpncpy strcasecmp strcat strchr strcmp strcpy strcspn strdup strerror strlen "
    "strncasecmp strncat strncmp strncpy strndup strpbrk strrchr strspn strstr strtod strtof strtok strtol strtold "
    "strtoll strtoul strtoull strxfrm tolower toupper va_copy va_end va_start vfork vfprintf vfscanf vprintf vscanf "
    "vsnprintf vsprintf vsscanf wcschr wcscmp wcslen wcsncmp wmemchr wmemcmp wmemcpy wmemmove"
).split()) | frozenset(name + precision for name in _OF_EVERY_PRECISION for precision in ("", "f", "l"))
"""As of clang 19, of C's library and of POSIX; tests/codegen/test_library_functions.py asks it."""
