#include "vramfit/memory/inspection.hpp"

#include "refusal.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/memory/kv_cache.hpp"
#include "vramfit/model/architecture.hpp"
#include "vramfit/model/quant_mix.hpp"
#include "vramfit/model/weights.hpp"

#include <algorithm>
#include <array>

namespace vramfit {
namespace {

constexpr std::uint64_t long_context =
    std::uint64_t{16} * 1024 * 1024; // beyond every window, so that what still grows grows for ever

struct Term {
    std::string_view name; ///< llama.cpp's (llama-hparams.h, print_info)
    std::string_view key;  ///< a hyperparameter or a symbol of the architecture
};

constexpr std::array<Term, 27> terms{{{"n_ctx_train", "context_length"},
                                      {"n_vocab", "n_vocab"},
                                      {"n_embd", "embedding_length"},
                                      {"n_layer", "block_count"},
                                      {"n_layer_nextn", "nextn_predict_layers"},
                                      {"n_head", "attention.head_count"},
                                      {"n_head_kv", "attention.head_count_kv"},
                                      {"n_embd_head_k", "head_k"},
                                      {"n_embd_head_v", "head_v"},
                                      {"n_rot", "rope.dimension_count"},
                                      {"n_swa", "attention.sliding_window"},
                                      {"n_lora_q", "attention.q_lora_rank"},
                                      {"n_lora_kv", "attention.kv_lora_rank"},
                                      {"n_ff", "feed_forward_length"},
                                      {"n_layer_dense_lead", "leading_dense_block_count"},
                                      {"n_expert", "expert_count"},
                                      {"n_expert_used", "expert_used_count"},
                                      {"n_expert_shared", "expert_shared_count"},
                                      {"n_ff_exp", "expert_feed_forward_length"},
                                      {"n_ff_shexp", "expert_shared_feed_forward_length"},
                                      {"ssm_d_conv", "ssm.conv_kernel"},
                                      {"ssm_d_inner", "ssm.inner_size"},
                                      {"ssm_d_state", "ssm.state_size"},
                                      {"ssm_dt_rank", "ssm.time_step_rank"},
                                      {"ssm_n_group", "ssm.group_count"},
                                      {"n_shortconv_l_cache", "shortconv.l_cache"},
                                      {"n_embd_out", "embedding_length_out"}}};

void add(std::uint64_t& sum, std::uint64_t bytes) { sum = checked_add(sum, bytes, "a KV cache"); }

std::uint64_t count_of(double value) {
    constexpr double most = 9007199254740992.0; // 2^53: beyond it a double is no count
    return value >= 1 ? static_cast<std::uint64_t>(std::min(value, most)) : 0;
}

std::vector<ShapeFigure> shape_of(const Model& model, Evaluator& evaluator) {
    std::vector<ShapeFigure> shape;
    for (const Term& term : terms) {
        ShapeFigure figure{term.name, UINT64_MAX, 0};
        for (std::uint32_t il = 0; il < std::max(model.n_layer(), 1U); ++il) {
            evaluator.enter_layer(static_cast<std::int32_t>(il));
            const std::uint64_t here = count_of(evaluator.value_or(term.key, 0));
            figure.least = std::min(figure.least, here);
            figure.most = std::max(figure.most, here);
        }
        if (figure.most > 0) shape.push_back(figure);
    }
    return shape;
}

std::vector<bool> layers_with_experts(const Model& model) {
    std::vector<bool> experts(model.n_block());
    for (const Tensor& tensor : model.tensors) {
        const bool inside = tensor.layer >= 0 && static_cast<std::size_t>(tensor.layer) < experts.size();
        if (inside && model.name_of(tensor).find("_exps") != std::string_view::npos)
            experts[static_cast<std::size_t>(tensor.layer)] = true;
    }
    return experts;
}

std::vector<LayerKind> layers_of(const Model& model, const std::vector<Cache>& caches) {
    const std::vector<bool> experts = layers_with_experts(model);
    std::vector<LayerKind> kinds;
    for (std::uint32_t il = 0; il < model.n_block(); ++il) {
        LayerKind here;
        here.experts = experts[il];
        here.mtp = il >= model.n_layer();
        for (const Cache& cache : caches) {
            if (cache.layer(static_cast<std::int32_t>(il)) != nullptr) here.caches.push_back(cache.kind);
        }
        const auto alike = std::ranges::find_if(kinds, [&](const LayerKind& kind) {
            return kind.caches == here.caches && kind.experts == here.experts && kind.mtp == here.mtp;
        });
        ++(alike == kinds.end() ? kinds.emplace_back(std::move(here)) : *alike).layers;
    }
    return kinds;
}

/// Plans the caches of one sequence, all on one device.
class Planner {
public:
    Planner(const Model& model, Evaluator& evaluator)
        : model_(model),
          evaluator_(evaluator),
          placement_(place(model, PlacementRequest{}, false)) {}

    static Settings settings(TensorType type, std::uint64_t n_ctx) {
        Settings s;
        s.n_ctx = n_ctx;
        s.type_k = s.type_v = type;
        return s;
    }

    std::vector<Cache> plan(const Settings& s) {
        const ContextPlan context = plan_context(s, model_.n_ctx_train());
        set_context(evaluator_, s, context);
        return plan_caches(evaluator_, s, context, placement_, false);
    }

    CacheCost cost(TensorType type) {
        CacheCost cost;
        cost.type = type;
        const Settings here = settings(type, long_context);
        const std::vector<Cache> caches = plan(here);
        const std::vector<Cache> longer = plan(settings(type, long_context + n_cells_pad));
        for (std::size_t i = 0; i < caches.size(); ++i) {
            if (caches[i].recurrent) continue;
            const std::uint64_t growth = longer[i].alloc_bytes() - caches[i].alloc_bytes();
            add(cost.bytes_per_token, growth / n_cells_pad);
            if (growth == 0) add(cost.window_bytes, caches[i].alloc_bytes());
        }
        const Settings trained = settings(type, 0);
        if (model_.n_ctx_train() > 0) {
            for (const Cache& cache : plan(trained)) add(cost.trained_bytes, cache.alloc_bytes());
        }
        cost.refusal = settings_refusal(evaluator_, here, caches);
        return cost;
    }

private:
    const Model& model_;
    Evaluator& evaluator_;
    Placement placement_;
};

std::vector<TensorType> types_of(const Model& model, std::optional<FileType> file_type) {
    if (file_type && model.file_type.empty()) {
        QuantMix mix = quant_mix(model, model.architecture->name, *file_type, true);
        if (mix.refused) throw Error(*mix.refused);
        return std::move(mix.types);
    }
    std::vector<TensorType> types;
    for (const Tensor& tensor : model.tensors) types.push_back(tensor.type);
    return types;
}

std::string file_type_of(const Model& model, std::optional<FileType> file_type) {
    if (!model.file_type.empty()) return model.file_type;
    return std::string(traits(file_type.value_or(FileType::f16)).name);
}

} // namespace

Inspection inspect(const Model& model, std::optional<FileType> file_type, const std::vector<TensorType>& cache_types) {
    Inspection result;
    const std::vector<TensorType> types = types_of(model, file_type);
    result.file_type = file_type_of(model, file_type);
    result.weights = weight_groups(model, types);
    result.tensor_bytes = file_tensor_bytes(model, types);

    Evaluator evaluator(model);
    Planner planner(model, evaluator);
    const Settings settings = Planner::settings(TensorType::f16, long_context);
    const std::vector<Cache> caches = planner.plan(settings);
    result.n_ubatch = settings.n_ubatch;
    result.layers = layers_of(model, caches);
    for (const Cache& cache : caches) {
        if (cache.recurrent) add(result.state_bytes, cache.alloc_bytes());
    }
    for (const TensorType type : cache_types) result.caches.push_back(planner.cost(type));
    const auto larger = [](const CacheCost& a, const CacheCost& b) {
        return row_size(a.type, 256) > row_size(b.type, 256); // 256: whole blocks of every type
    };
    std::ranges::stable_sort(result.caches, larger);
    result.shape = shape_of(model, evaluator);
    return result;
}

} // namespace vramfit
