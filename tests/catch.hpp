#pragma once

// Debian 12 has Catch2 2.13 (one header), Ubuntu 24.04 and Homebrew have Catch2 3. The tests use what both know.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
