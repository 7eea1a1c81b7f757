#include "vramfit/memory/adapter.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/model/architecture.hpp"
#include "vramfit/model/weights.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace vramfit {
namespace {

struct Halves {
    const GgufTensor* a = nullptr;
    const GgufTensor* b = nullptr;
};

void check_kind(const GgufHeader& header, const Model& model) {
    if (header.kind != GgufKind::adapter)
        throw Error(header.file + " is " + std::string(describe(header.kind)) + ", no LoRA adapter");
    const std::string& architecture = model.architecture->name;
    if (header.architecture() != architecture)
        throw Error(header.file + " adapts models of the architecture " + quote(header.architecture()) + ", " +
                    model.id + " is of " + architecture);
}

/// By the name of the adapted matrix. Vectors of norms are passed over, as llama.cpp does.
std::map<std::string, Halves> halves_of(const GgufHeader& header) {
    constexpr std::string_view suffix_a = ".lora_a";
    constexpr std::string_view suffix_b = ".lora_b";
    std::map<std::string, Halves> halves;
    for (const GgufTensor& t : header.tensors) {
        if (t.name.ends_with(suffix_a))
            halves[t.name.substr(0, t.name.size() - suffix_a.size())].a = &t;
        else if (t.name.ends_with(suffix_b))
            halves[t.name.substr(0, t.name.size() - suffix_b.size())].b = &t;
        else if (!t.name.ends_with("_norm.weight"))
            throw Error(header.file + ": " + quote(t.name) + " is neither .lora_a nor .lora_b of a matrix");
    }
    return halves;
}

/// Does the product of both halves have the matrix's shape? Those of the token embedding are the other way round.
bool matches(const Halves& h, const Tensor& matrix, bool embedding) {
    if (embedding) return matrix.ne[0] == h.b->ne[1] && matrix.ne[1] == h.a->ne[1];
    return matrix.ne[0] == h.a->ne[0] && matrix.ne[1] == h.b->ne[1] && h.a->ne[1] == h.b->ne[0];
}

} // namespace

std::uint64_t LoraAdapter::widest() const {
    std::uint64_t most = 0;
    for (const Pair& pair : pairs) most = std::max(most, pair.width);
    return most;
}

LoraAdapter read_adapter(const GgufHeader& header, const Model& model) {
    check_kind(header, model);
    std::map<std::string, std::size_t> known;
    for (std::size_t i = 0; i < model.tensors.size(); ++i) known.emplace(model.full_name_of(model.tensors[i]), i);
    LoraAdapter adapter;
    for (const auto& [name, halves] : halves_of(header)) {
        if (halves.a == nullptr || halves.b == nullptr)
            throw Error(header.file + ": the pair of " + quote(name) + " lacks its " +
                        (halves.a == nullptr ? ".lora_a" : ".lora_b"));
        const auto found = known.find(name);
        if (found == known.end())
            throw Error(header.file + " adapts " + quote(name) + ", which " + model.id + " does not have");
        const Tensor& matrix = model.tensors[found->second];
        if (!matches(halves, matrix, name.ends_with("token_embd.weight")))
            throw Error(header.file + ": the shape of " + quote(name) + " does not match that of " + model.id);
        LoraAdapter::Pair& pair = adapter.pairs.emplace_back();
        pair.tensor = found->second;
        const Tensor a = tensor_of(*halves.a);
        const Tensor b = tensor_of(*halves.b);
        pair.device_bytes = checked_add(cuda_alloc_size(a, a.type), cuda_alloc_size(b, b.type), "an adapter");
        pair.host_bytes = checked_add(host_alloc_size(a, a.type), host_alloc_size(b, b.type), "an adapter");
        pair.width = checked_add(halves.a->ne[1], halves.b->ne[1], "an adapter");
    }
    return adapter;
}

} // namespace vramfit
