#include "projector_types.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/embedded_data.hpp"

#include <nlohmann/json.hpp>

namespace vramfit {
namespace {

using nlohmann::json;

constexpr std::uint64_t f16_bytes = 2;
// An F16 file keeps biases, norms and some positions in F32: published files are 0.7 to 4.3 % larger than two bytes a
// weight.
constexpr std::uint64_t f32_share = 64;   // added to the weights
constexpr std::uint64_t error_share = 32; // by which they may still be more

const json& data() {
    static const json parsed = json::parse(embedded::file("projectors.json").value());
    return parsed;
}

Encoder encoder_of(const json& family, const json& model) {
    Encoder e;
    const auto number = [&](const char* key) { return family.value(key, std::uint64_t{0}); };
    e.n_layer = number("n_layer");
    e.n_embd = number("n_embd");
    e.n_ff = number("n_ff");
    e.n_head = number("n_head");
    e.n_taps = number("taps");
    e.image_size = number("image_size");
    e.patch_size = number("patch_size");
    e.gated = family.value("gated", false);
    e.n_embd_out = model.value("out", std::uint64_t{0});
    return e;
}

Projector projector_of(const std::string& id, const json& family, const json& model) {
    Projector p;
    p.name = id;
    p.type = family.at("type");
    p.encoders.push_back(encoder_of(family, model));
    if (const auto type = projector_type(p.type)) apply(*type, p.encoders.front());
    const std::uint64_t weights = model.at("parameters").get<std::uint64_t>() * f16_bytes;
    p.tensor_bytes = model.value("file_bytes", weights + weights / f32_share);
    p.device_weights = p.host_weights = p.tensor_bytes;
    p.weights_error = model.contains("file_bytes") ? 0 : weights / error_share;
    p.weights_basis = Basis::typical;
    return p;
}

} // namespace

std::optional<ProjectorType> projector_type(std::string_view type) {
    for (const json& entry : data().at("types")) {
        if (entry.at("type").get<std::string_view>() != type) continue;
        return ProjectorType{entry.at("merge"), entry.at("warmup_tokens"), entry.value("most_tokens", std::uint64_t{0}),
                             entry.value("windows", false)};
    }
    return std::nullopt;
}

void apply(const ProjectorType& type, Encoder& encoder) {
    std::uint64_t side = 1; // of the image, in tokens
    while ((side + 1) * (side + 1) <= type.warmup_tokens) ++side;
    encoder.image_size = checked_mul(checked_mul(side, type.merge), encoder.patch_size, "an image");
    encoder.n_most = checked_mul(type.most_tokens, checked_mul(type.merge, type.merge), "an image");
    encoder.windows = type.windows;
}

std::optional<Projector> known_projector(std::string_view model_id) {
    const std::string id(model_id.substr(0, model_id.find('+'))); // a variant with the MTP block sees alike
    for (const json& family : data().at("projectors")) {
        const json& models = family.at("models");
        if (const auto found = models.find(id); found != models.end()) return projector_of(id, family, *found);
    }
    return std::nullopt;
}

} // namespace vramfit
