#include "ask.hpp"

#include "vramfit/base/bytes.hpp"

#include "catch.hpp"

#include <array>
#include <map>
#include <random>
#include <set>
#include <vector>

using namespace vramfit;
using namespace vramfit::test;

namespace {

/// Numbers that are the same with every standard library.
class Dice {
public:
    explicit Dice(std::uint32_t seed) : engine_(seed) {}

    std::uint64_t below(std::uint64_t n) { return engine_() % n; }
    bool one_in(std::uint64_t n) { return below(n) == 0; }
    template <typename Items>
    auto of(const Items& items) {
        return items[static_cast<std::size_t>(below(items.size()))];
    }

private:
    std::mt19937 engine_;
};

/// Dense, sliding windows, MLA, recurrent, both, mixtures of experts.
constexpr std::array models{"llama3.1-8b", "qwen2.5-14b",      "phi-2",       "gemma3-4b",   "gemma2-9b",
                            "gpt-oss-20b", "deepseek-v2-lite", "mamba-2.8b",  "mamba2-2.7b", "falcon-h1-1.5b",
                            "lfm2-1.2b",   "qwen3-30b-a3b",    "olmoe-1b-7b", "llama3.2-3b", "granite-4.0-h-micro"};
constexpr std::array quants{"q4_k_m", "q8_0", "f16", "iq3_xxs", "q5_k_m"};
constexpr std::array contexts{1024ULL, 4096ULL, 8192ULL, 20000ULL, 32768ULL, 131072ULL};
constexpr std::array cards{"2GB", "4GB", "6GB", "8GB", "10GB", "12GB", "16GB"};

Request random_request(Dice& dice) {
    Request request = question(dice.of(models), dice.of(quants), dice.of(contexts), dice.of(cards));
    for (std::uint64_t more = dice.below(4); more >= 2; --more) request.gpus.emplace_back(dice.of(cards));
    if (dice.one_in(4)) request.parallel = 1 + dice.below(6);
    if (dice.one_in(6)) request.kv_unified = dice.one_in(2);
    if (dice.one_in(4)) request.type_k = request.type_v = dice.one_in(2) ? TensorType::q8_0 : TensorType::q4_0;
    if (dice.one_in(5)) request.flash_attn = dice.one_in(2) ? FlashAttention::off : FlashAttention::on;
    if (dice.one_in(6)) request.n_ubatch = 256 << dice.below(4);
    if (dice.one_in(6)) request.n_gpu_layers = static_cast<std::int64_t>(dice.below(40));
    if (dice.one_in(8)) request.n_cpu_moe = static_cast<std::uint32_t>(dice.below(12));
    if (dice.one_in(6)) request.ram = (4 + dice.below(16)) * gib;
    if (dice.one_in(8)) request.runtime = "llama-cli";
    if (dice.one_in(12)) request.embeddings = true;
    if (dice.one_in(10)) request.imatrix = request.quant == "iq3_xxs"; // which cannot be made without
    request.strict = dice.one_in(5);
    return request;
}

/// Values of settings that can change, as the JSON names them.
std::map<std::string, SettingValue> values_of(const EffectiveSettings& s) {
    return {{"quant", s.quant},
            {"n_ctx", s.n_ctx},
            {"parallel", s.parallel},
            {"kv_unified", s.kv_unified},
            {"n_ubatch", s.n_ubatch},
            {"cache_type_k", std::string(traits(s.type_k).name)},
            {"cache_type_v", std::string(traits(s.type_v).name)},
            {"flash_attn", s.flash_attn},
            {"gpu_layers", s.gpu_layers},
            {"n_cpu_moe", s.n_cpu_moe},
            {"swa_full", s.swa_full}};
}

/// `set` tells every setting that is another one after the change, and none that is not what it says.
void check_set(const Suggestion& s, const Answer& before, const Answer& after) {
    const auto old_values = values_of(before.settings);
    const auto new_values = values_of(after.settings);
    std::map<std::string, SettingValue> told(s.set.begin(), s.set.end());
    CHECK(told.size() == s.set.size());
    for (const auto& [name, value] : new_values) {
        INFO(name);
        // What llama.cpp makes of the others: of one slot nothing is shared, `auto` looks at the types, and another
        // model has as many layers as it has. A n_ctx that is told is rounded up.
        if (name == "kv_unified" && after.settings.parallel == 1) continue;
        if (name == "flash_attn" &&
            s.request.flash_attn.value_or(FlashAttention::automatic) == FlashAttention::automatic)
            continue;
        if (name == "n_ubatch" && after.settings.n_ubatch == after.settings.n_ctx) continue; // no more than the context
        if (s.kind == "model" && (name == "gpu_layers" || name == "n_cpu_moe")) continue;
        if (told.contains(name))
            CHECK((told.at(name) == value));
        else
            CHECK((old_values.at(name) == value));
    }
    if (s.kind == "model") CHECK((told.at("model") == SettingValue(after.model.id)));
    if (s.kind == "gpu") CHECK((told.at("gpu") == SettingValue(s.request.gpus.at(0))));
}

/// Required memory of the device that misses most in `before`, or of the computer where that alone is short.
std::uint64_t saved(const Answer& before, const Answer& after) {
    if (before.verdict == Verdict::refused) return 0;
    std::size_t worst = 0;
    bool ram_alone = before.ram.has_value();
    const auto missing = [&](std::size_t i) {
        return static_cast<std::int64_t>(before.devices[i].wanted) - before.devices[i].headroom;
    };
    for (std::size_t i = 0; i < before.devices.size(); ++i) {
        if (missing(i) > missing(worst)) worst = i;
        ram_alone = ram_alone && before.devices[i].verdict < before.ram->verdict;
    }
    const std::uint64_t was = ram_alone ? before.ram->required : before.devices[worst].required;
    const std::uint64_t is = ram_alone ? after.ram->required : after.devices[worst].required;
    return was > is ? was - is : 0;
}

} // namespace

TEST_CASE("every suggestion keeps its promises, whatever the deployment") {
    Dice dice(20240607);
    std::set<std::string> kinds;
    std::set<Verdict> verdicts;
    for (int i = 0; i < 220; ++i) {
        const Request request = random_request(dice);
        const Answer before = answer(request);
        INFO(i << ": " << request.model << ' ' << *request.quant << " -c " << *request.n_ctx << " on "
               << before.devices.size() << " x " << request.gpus[0] << ": " << before.command);
        verdicts.insert(before.verdict);
        CHECK((before.verdict != Verdict::fit || before.suggestions.empty()));
        for (const Suggestion& s : before.suggestions) {
            INFO(s.kind << ": " << s.summary << ", " << s.command);
            kinds.insert(s.kind);
            const Answer after = answer(s.request);
            CHECK(after.verdict == s.verdict);
            CHECK(s.verdict < before.verdict);
            CHECK(s.verdict <= Verdict::tight);
            CHECK(saved(before, after) == s.saved);
            CHECK_FALSE(s.set.empty());
            check_set(s, before, after);
            for (const std::string& flag : s.flags)
                CHECK((s.command + ' ').find(' ' + flag + ' ') != std::string::npos);
            CHECK(s.flags.empty() == (s.kind == "gpu"));
        }
    }
    CHECK(verdicts.size() == 4);
    for (const char* kind : {"ctx", "cache_type", "flash_attn", "quant", "parallel", "kv_unified", "ubatch",
                             "n_cpu_moe", "gpu_layers", "model", "gpu"}) {
        INFO(kind);
        CHECK(kinds.contains(kind));
    }
}
