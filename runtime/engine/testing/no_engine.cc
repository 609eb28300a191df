// A library that is no engine, for the loader's tests.
extern "C" int mc_not_an_engine() { return 0; }
