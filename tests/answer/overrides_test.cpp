#include "answer/overrides.hpp"

#include "support/errors.hpp"

#include "catch.hpp"

using namespace vramfit;
using test::error_of;

namespace {

std::vector<Device> devices(const std::string& spec) { return parse_gpu_spec(spec); }

std::vector<TensorOverride> parsed(const std::vector<std::string>& texts, const std::string& spec = "2x24GB") {
    return parse_overrides(texts, devices(spec), find_runtime("llama.cpp"));
}

} // namespace

TEST_CASE("overrides are read as llama.cpp reads them", "[overrides]") {
    CHECK(parsed({}).empty());
    CHECK(parsed({"exps=CPU"}) == std::vector<TensorOverride>{{"exps", host_device}});
    CHECK(parsed({"blk\\.[0-9]\\.=CUDA1,exps=CPU", "attn=CUDA0"}) ==
          std::vector<TensorOverride>{{"blk\\.[0-9]\\.", 1}, {"exps", host_device}, {"attn", 0}});
    CHECK(parsed({"=CPU"}) == std::vector<TensorOverride>{{"", host_device}}); // every tensor
}

TEST_CASE("overrides that llama.cpp would refuse are errors that name what it knows", "[overrides]") {
    CHECK(error_of([] { parsed({"exps"}); }) ==
          "an override of tensors must be REGEX=BUFFER, such as exps=CPU, not \"exps\"");
    CHECK(error_of([] { parsed({"exps=CPU,"}); }) ==
          "an override of tensors must be REGEX=BUFFER, such as exps=CPU, not \"\"");
    CHECK(error_of([] { parsed({"exps=cpu"}); }) ==
          "unknown buffer \"cpu\" in the override \"exps=cpu\"; it can be CPU, CUDA0 or CUDA1");
    CHECK(error_of([] { parsed({"a=b=CPU"}); }) ==
          "unknown buffer \"b=CPU\" in the override \"a=b=CPU\"; it can be CPU, CUDA0 or CUDA1");
    CHECK(error_of([] { parsed({"a\tb=CPU"}); }) == "the override \"a?b=CPU\" holds a control character");
    CHECK(error_of([] { parsed({"exps=CUDA64"}, "64x24GB"); }).ends_with("it can be CPU or CUDA0 to CUDA63"));
}

TEST_CASE("a device's buffers are counted by backend", "[overrides]") {
    std::vector<Device> both = devices("24GB");
    both.push_back(both[0]);
    both[0].kind = Device::Kind::rocm;
    const RuntimeProfile runtime = find_runtime("llama.cpp");
    CHECK(buffer_name(both, 0, runtime) == "ROCm0");
    CHECK(buffer_name(both, 1, runtime) == "CUDA0");
    CHECK(parse_overrides({"x=CUDA0"}, both, runtime).front().device == 1);
}
