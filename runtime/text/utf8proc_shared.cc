// utf8proc as a shared library, which Python can ask: one name brings in the whole of the static one.
#include <utf8proc.h>

extern "C" const char* utf8proc_of_the_runtime() { return utf8proc_unicode_version(); }
