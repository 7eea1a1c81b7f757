#pragma once

#include "vramfit/model/expression.hpp"
#include "vramfit/model/ggml_op.hpp"
#include "vramfit/model/model.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// Names that every template may use; the evaluator sets them. In the order of `builtin_names`.
enum class Builtin : std::uint32_t {
    il,
    first,
    last,
    n_tokens,
    n_outputs,
    n_seqs,
    n_stream,
    n_kv,
    n_ctx,
    n_ctx_seq,
    n_ubatch,
    kv_unified,
    swa_full,
    flash_attn,
    v_trans,
    k_f32,
    v_f32,
    rot_k,
    rot_v,
    n_rot_k,
    n_rot_v,
    v_pad,
    n_v_max,
    embeddings,
    mtp,
    round,
    count,
};

/// A tensor of a file, its shape in symbols.
struct TensorTemplate {
    std::uint32_t name = 0; ///< slot in Architecture::tensors
    std::vector<Expression> ne;
    std::optional<TensorType> type;
    TensorSection section = TensorSection::layer;
    bool optional = false;
    MtpLoading mtp_loading = MtpLoading::with_mtp;
    Expression condition;
};

/// A cache that an architecture keeps. Empty expressions are absent parts.
struct CacheTemplate {
    std::string name;
    Expression layers;  ///< not 0 where the layer keeps one
    Expression k, v;    ///< elements a cell, in the cache's type
    Expression r, s;    ///< f32 elements a sequence
    Expression cells;   ///< cells a stream
    Expression streams; ///< streams
    Expression rotated; ///< may be rotated in front of quantization; by default where it has a V
    bool apart = false; ///< has widths of its own: no part in the padding of V
};

/// Settings that llama.cpp does not survive with this architecture.
struct Refusal {
    Expression condition;
    std::string message;
};

/// The type of a graph node: fixed, or one of the deployment's.
enum class NodeType : std::uint8_t { fixed, type_k, type_v, type_mask };

enum class CachePart : std::uint8_t { k, v, r, s };

/// Where a line of a template stands, for messages: kept as parts, because hardly any of them is ever shown.
struct Origin {
    std::shared_ptr<const std::string> section; ///< "llama.json, graph.layer"
    std::uint32_t line = 0;

    std::string text() const { return *section + " line " + std::to_string(line); }
};

/// One source (or the destination in a cache) of a graph line.
struct SourceRef {
    enum class Kind : std::uint8_t { result, input, weight, cache };
    Kind kind = Kind::result;
    std::uint8_t views = 0;  ///< view nodes made for this use
    bool optional = false;   ///< weight: nothing where the model lacks it
    bool next_layer = false; ///< weight of layer il + 1; cache of the next layer that keeps one
    bool global = false;     ///< weight outside the layers
    CachePart part = CachePart::k;
    std::int32_t index =
        -1; ///< result slot, input, tensor slot, or cache (-1: the layer's attention or recurrent cache)
};

struct GraphLine {
    enum class Kind : std::uint8_t { node, store, alias, touch, repeat };
    Kind kind = Kind::node;
    Op op = Op::none;
    NodeType node_type = NodeType::fixed;
    TensorType type = TensorType::f32;
    std::uint32_t result = 0; ///< slot of the name that is bound
    SourceRef destination;    ///< store: the cache
    std::vector<Expression> ne;
    std::vector<SourceRef> sources;
    std::vector<std::uint32_t> conditions; ///< indexes into Architecture::conditions, all must hold
    Expression bytes, cut, output, count;
    Expression times; ///< repeat: how often the next `n_lines` lines are written
    std::uint32_t n_lines = 0;
    bool on_host = false;
    bool in_place = false;  ///< the result is a view of the first source that the node writes into
    bool attention = false; ///< the result of an attention without flash attention
    bool free = false;      ///< a norm that a real load does not pin to its layer's device
    Origin where;
};

struct InputTemplate {
    enum class Scope : std::uint8_t { graph, cache, layer };
    std::string name;
    NodeType node_type = NodeType::fixed;
    TensorType type = TensorType::f32;
    std::vector<Expression> ne;
    Scope scope = Scope::graph;
    std::int32_t view_of = -1;
    bool scratch = false; ///< no input: a tensor that the graph itself fills
    std::string where;
};

struct GraphTemplate {
    std::vector<GraphLine> pre, layer, head;
    std::vector<InputTemplate> inputs;
    std::uint32_t n_results = 0; ///< slots for names of results
};

/// An architecture as data/architectures/NAME.json describes it. Immutable; shared between models.
class Architecture {
public:
    /// Reads an architecture from its JSON and that of common.json. `file` names it in messages.
    /// Throws Error with file, section, line and symbol.
    static std::shared_ptr<const Architecture> parse(std::string_view json, std::string_view common_json,
                                                     std::string_view file);

    std::string name;
    NameTable names;                 ///< symbols, built-ins and hyperparameter keys; built-ins come first
    NameTable tensors;               ///< tensor names, with their suffix
    std::vector<Expression> symbols; ///< by slot of `names`; empty where the name is no symbol
    std::vector<TensorTemplate> tensor_templates;
    std::vector<std::int32_t>
        canonical; ///< by slot of `tensors`: slot of the template's full name, or -1 where there is none
    std::vector<CacheTemplate> caches;
    std::vector<Refusal> refusals;
    std::vector<Expression> conditions;
    GraphTemplate graph;
};

/// The bundled architecture of that name. Throws Error where there is none, naming near ones.
std::shared_ptr<const Architecture> bundled_architecture(std::string_view name);

/// A model's tensors from its architecture's templates: what an F16 file of it holds.
/// `optional` lists the optional tensors that exist ("attn_q.bias"). Throws Error where a hyperparameter is missing or absurd.
void instantiate_tensors(Model& model, const std::vector<std::string>& optional);

} // namespace vramfit
