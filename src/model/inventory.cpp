#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/model/architecture.hpp"
#include "vramfit/model/check_counts.hpp"
#include "vramfit/model/evaluator.hpp"

#include <algorithm>

namespace vramfit {
namespace {

/// The type in an F16 file: what has one dimension and every norm stays f32 (convert_hf_to_gguf.py).
TensorType base_type(const TensorTemplate& t, std::string_view name) {
    if (t.type) return *t.type;
    return t.ne.size() == 1 || name.ends_with("_norm.weight") ? TensorType::f32 : TensorType::f16;
}

class Inventory {
public:
    Inventory(Model& model, const std::vector<std::string>& optional)
        : model_(model),
          arch_(*model.architecture),
          eval_(model, optional),
          optional_(optional),
          names_(arch_.tensors.size(), -1) {}

    void fill() {
        check_optional();
        for (const TensorTemplate& t : arch_.tensor_templates) {
            if (t.section != TensorSection::layer) add(t, -1);
        }
        for (std::uint32_t il = 0; il < model_.n_block(); ++il) {
            eval_.enter_layer(static_cast<std::int32_t>(il));
            for (const TensorTemplate& t : arch_.tensor_templates) {
                if (t.section == TensorSection::layer) add(t, static_cast<std::int32_t>(il));
            }
        }
    }

private:
    /// A misspelt name must not pass for a tensor that is not there.
    void check_optional() const {
        for (const std::string& name : optional_) {
            const auto slot = arch_.tensors.find(name);
            if (!slot || arch_.canonical[*slot] != static_cast<std::int32_t>(*slot))
                throw Error("architecture " + arch_.name + " has no tensor " + quote(name) + ", which " + model_.id +
                            " lists as optional");
        }
    }

    void add(const TensorTemplate& t, std::int32_t layer) {
        const std::string& name = arch_.tensors.at(t.name);
        if (t.optional && std::ranges::find(optional_, name) == optional_.end()) return;
        if (!exists(t)) return;
        Tensor tensor;
        tensor.name = name_index(t.name);
        tensor.layer = layer;
        tensor.n_dims = static_cast<std::uint8_t>(t.ne.size());
        tensor.type = base_type(t, name);
        tensor.section = t.section;
        tensor.mtp_loading = t.mtp_loading;
        double elements = 1;
        for (std::size_t i = 0; i < t.ne.size(); ++i) {
            tensor.ne[i] = eval_.count(t.ne[i], name);
            elements *= static_cast<double>(tensor.ne[i]);
        }
        // A hostile entry must not wrap around: no model comes within a factor of a thousand of this.
        to_count(elements, "the number of elements of " + name);
        model_.tensors.push_back(tensor);
    }

    /// A tensor that layers share exists where one of them uses it.
    bool exists(const TensorTemplate& t) {
        if (t.section != TensorSection::each || t.condition.empty()) return eval_.holds(t.condition);
        bool used = false;
        for (std::uint32_t il = 0; il < model_.n_layer(); ++il) {
            eval_.enter_layer(static_cast<std::int32_t>(il));
            used = used || eval_.eval(t.condition) != 0;
        }
        eval_.enter_layer(0);
        return used;
    }

    std::uint32_t name_index(std::uint32_t slot) {
        if (names_[slot] < 0) {
            names_[slot] = static_cast<std::int32_t>(model_.tensor_names.size());
            model_.tensor_names.push_back(arch_.tensors.at(slot));
        }
        return static_cast<std::uint32_t>(names_[slot]);
    }

    Model& model_;
    const Architecture& arch_;
    Evaluator eval_;
    const std::vector<std::string>& optional_;
    std::vector<std::int32_t> names_;
};

} // namespace

void instantiate_tensors(Model& model, const std::vector<std::string>& optional) {
    constexpr std::uint32_t max_blocks = 4096; // far above every model; bounds what a hostile entry can ask for
    if (model.n_block() == 0 || model.n_block() > max_blocks)
        throw Error("block_count of " + model.id + " is " + std::to_string(model.n_block()) + "; 1 to " +
                    std::to_string(max_blocks) + " would be right");
    check_counts(model.hparams, model.id + ": ");
    Inventory(model, optional).fill();
}

} // namespace vramfit
