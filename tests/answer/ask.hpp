#pragma once

#include "vramfit/answer/answer.hpp"
#include "vramfit/base/error.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace vramfit::test {

/// A question with what every question needs.
inline Request question(std::string model, std::string quant, std::uint64_t n_ctx, std::string gpu) {
    Request request;
    request.model = std::move(model);
    request.quant = std::move(quant);
    request.n_ctx = n_ctx;
    request.gpus = {std::move(gpu)};
    return request;
}

/// Llama 3.1 8B in Q4_K_M: 4403.49 MiB of weights on the device, 128 KiB of cache a token, and with llama-server
/// 108.01 MiB + 1 KiB a token of compute buffer (116.01 MiB at 8192, 236.01 MiB at 131072), as measured. A card up to
/// 48 GiB loses 450 MiB to its driver and 300 MiB to the process (data/overheads.json).
inline Request llama_8b(std::uint64_t n_ctx, std::string gpu) {
    return question("llama3.1-8b", "q4_k_m", n_ctx, std::move(gpu));
}

inline const Suggestion* find_kind(const Answer& answer, std::string_view kind) {
    const auto found = std::ranges::find(answer.suggestions, kind, &Suggestion::kind);
    return found == answer.suggestions.end() ? nullptr : &*found;
}

/// The value that a suggestion gives the setting `name`, or nullptr.
template <typename T>
const T* set_value(const Suggestion& suggestion, std::string_view name) {
    for (const auto& [key, value] : suggestion.set)
        if (key == name) return std::get_if<T>(&value);
    return nullptr;
}

inline bool has_note(const Answer& answer, std::string_view part) {
    return std::ranges::any_of(answer.notes, [&](const std::string& note) { return note.find(part) != note.npos; });
}

inline std::string error_of(const Request& request) {
    try {
        answer(request);
    } catch (const Error& e) {
        return e.what();
    }
    return "no error";
}

} // namespace vramfit::test
