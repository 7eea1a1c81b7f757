#include "projector_types.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/model/weights.hpp"

#include <algorithm>
#include <set>

namespace vramfit {
namespace {

constexpr double most_pixels = 8192; // clip.cpp takes no larger image_size
constexpr double most_width = 1e6;   // of a layer: far beyond every encoder, and products stay countable

/// A count from the file's metadata; 0 where it is absent.
std::uint64_t count_at(const GgufHeader& header, const std::string& key, double most) {
    const double value = header.number(key).value_or(0);
    if (!(value >= 0 && value <= most))
        throw Error(header.file + ": " + key + " must be from 0 to " + std::to_string(static_cast<long long>(most)));
    return static_cast<std::uint64_t>(value);
}

bool has_tensor(const GgufHeader& header, std::string_view name) {
    return std::ranges::any_of(header.tensors, [&](const GgufTensor& t) { return t.name == name; });
}

/// The layers that are tapped have a small network each: "v.deepstack.8.fc2.weight".
std::uint64_t count_taps(const GgufHeader& header) {
    return static_cast<std::uint64_t>(std::ranges::count_if(header.tensors, [](const GgufTensor& t) {
        return t.name.starts_with("v.deepstack.") && t.name.ends_with(".fc2.weight");
    }));
}

std::string type_of(const GgufHeader& header, const std::string& prefix) {
    std::string_view type = header.text("clip.projector_type");
    if (type.empty()) type = header.text(prefix + "projector_type");
    return std::string(type);
}

Encoder encoder_of(const GgufHeader& header, bool audio) {
    const std::string prefix = audio ? "clip.audio." : "clip.vision.";
    const auto width = [&](const char* key) { return count_at(header, prefix + key, most_width); };
    Encoder e;
    e.audio = audio;
    e.n_layer = width("block_count");
    e.n_embd = width("embedding_length");
    e.n_ff = width("feed_forward_length");
    e.n_head = width("attention.head_count");
    e.n_embd_out = width("projection_dim");
    e.gated = has_tensor(header, audio ? "a.blk.0.ffn_gate.weight" : "v.blk.0.ffn_gate.weight");
    if (audio) {
        e.n_mel = width("num_mel_bins");
        return e;
    }
    e.n_taps = count_taps(header);
    e.image_size = count_at(header, "clip.vision.image_size", most_pixels);
    e.patch_size = count_at(header, "clip.vision.patch_size", most_pixels);
    if (e.patch_size == 0)
        throw Error(header.file + ": clip.vision.patch_size is missing; it is no projector that llama.cpp loads");
    if (auto type = projector_type(type_of(header, prefix))) {
        for (const char* key : {"clip.vision.spatial_merge_size", "clip.vision.projector.scale_factor"}) {
            if (const std::uint64_t merge = count_at(header, key, 64); merge > 0) type->merge = merge;
        }
        apply(*type, e);
    }
    return e;
}

} // namespace

Projector read_projector(const GgufHeader& header) {
    if (header.kind != GgufKind::projector)
        throw Error(header.file + " is " + std::string(describe(header.kind)) +
                    ", no projector of images or sound (mmproj)");
    Projector p;
    p.name = header.file;
    const bool vision = header.number("clip.has_vision_encoder").value_or(0) != 0;
    const bool audio = header.number("clip.has_audio_encoder").value_or(0) != 0;
    p.type = type_of(header, vision || !audio ? "clip.vision." : "clip.audio.");
    if (p.type.empty() && !vision && !audio)
        throw Error(header.file + ": clip.projector_type is missing; it is no projector that llama.cpp loads");
    if (vision || !audio) p.encoders.push_back(encoder_of(header, false));
    if (audio) p.encoders.push_back(encoder_of(header, true));
    for (const GgufTensor& t : header.tensors) {
        const Tensor tensor = tensor_of(t);
        p.tensor_bytes = checked_add(p.tensor_bytes, t.bytes, "a projector");
        p.device_weights = checked_add(p.device_weights, cuda_alloc_size(tensor, t.type), "a projector");
        p.host_weights = checked_add(p.host_weights, host_alloc_size(tensor, t.type), "a projector");
    }
    return p;
}

} // namespace vramfit
