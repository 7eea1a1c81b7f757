// The prompt graph that the data of data/architectures generates, node by node, against graphs that llama.cpp handed to
// its allocator: tests/data/graphs. A wrong line of a template is found where it stands, not as a wrong sum.
#include "support/buffer_rows.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/memory/compute.hpp"
#include "vramfit/model/catalog.hpp"
#include "vramfit/model/quant_mix.hpp"

#include "catch.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

using namespace vramfit;
using namespace vramfit::test;

namespace {

/// A node in the notation of the files: "MUL_MAT 4096,512 @25178112", "SET_ROWS into".
struct Node {
    std::string text;
    std::int32_t layer = -1;
    std::string where; ///< ours: the line of the template
};

/// One recorded setting.
struct Recording {
    BufferRow row;
    std::uint64_t n_layer = 0;
    std::vector<Node> nodes;
    std::set<std::int32_t> layers; ///< those that were kept
};

/// A stretch of nodes of one layer, for those that are written as "as that one".
struct Block {
    std::vector<std::string> keys, offsets;
};

/// "L 31", "L 31 = 2" (as block 2), "L 30 ~ 1 0 0 *5 25178112" (as block 1 at other offsets; *5: five are the same).
std::pair<std::int32_t, Block> read_block_header(const std::string& line, const std::vector<Block>& blocks) {
    std::istringstream in(line);
    std::string word;
    std::int32_t layer = 0;
    std::size_t other = 0;
    in >> word >> layer >> word;
    if (!in) return {layer, {}};
    in >> other;
    Block block = blocks.at(other);
    if (word == "=") return {layer, block};
    std::size_t at = 0;
    for (std::string value; in >> value;) {
        while (block.offsets.at(at).empty()) ++at;
        if (value.front() != '*') {
            block.offsets[at++] = " @" + value;
            continue;
        }
        for (std::size_t n = std::stoul(value.substr(1)); n > 0; ++at) n -= block.offsets.at(at).empty() ? 0 : 1;
    }
    return {layer, block};
}

void append(Recording& recording, std::int32_t layer, const Block& block) {
    for (std::size_t i = 0; i < block.keys.size(); ++i)
        recording.nodes.push_back({block.keys[i] + block.offsets[i], layer, {}});
}

Recording read_header(const std::string& model, const std::string& line) {
    const std::vector<std::string> cells = split(line.substr(2), "\t");
    Recording r;
    r.row.model = model;
    r.row.settings = cells.at(0);
    read_settings(r.row);
    r.row.flash_attn = cells.at(1);
    r.row.compute = cells.at(2);
    r.row.nodes = cells.at(3);
    r.row.splits = cells.at(4);
    r.n_layer = std::stoull(cells.at(5));
    for (const std::string& layer : split(cells.at(6), ",")) r.layers.insert(std::stoi(layer));
    return r;
}

std::vector<Recording> read_recordings(const std::string& path, const std::string& model) {
    std::vector<Recording> recordings;
    std::vector<Block> blocks;
    std::vector<std::int32_t> layer_of;
    std::vector<std::size_t> recording_of;
    for (const std::string& line : read_lines(path)) {
        if (line.starts_with("> ")) {
            recordings.push_back(read_header(model, line));
        } else if (line.starts_with("L ")) {
            auto [layer, block] = read_block_header(line, blocks);
            blocks.push_back(std::move(block));
            layer_of.push_back(layer);
            recording_of.push_back(recordings.size() - 1);
        } else {
            const std::size_t at = line.find(" @");
            blocks.back().keys.push_back(line.substr(0, at));
            blocks.back().offsets.push_back(at == std::string::npos ? std::string() : line.substr(at));
        }
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) append(recordings[recording_of[i]], layer_of[i], blocks[i]);
    return recordings;
}

std::string shape_text(const GraphTensor& t) {
    std::size_t n = 4;
    while (n > 1 && t.ne[n - 1] == 1) --n;
    std::string text;
    for (std::size_t i = 0; i < n; ++i) text += (i == 0 ? " " : ",") + std::to_string(t.ne[i]);
    return text;
}

std::string node_text(const GraphTensor& t, const Allocation& a) {
    const std::string op(traits(t.op).name);
    if (t.view_root >= 0) return op + " into";
    const std::string type = t.type == TensorType::f32 ? std::string() : "." + std::string(traits(t.type).name);
    const bool host = a.backend == 1; // one device: 0
    return op + type + shape_text(t) + (host ? " host" : "") + " @" + std::to_string(a.offset);
}

struct Generated {
    std::vector<Node> nodes;
    std::string compute, n_nodes, n_splits;
};

Generated generate(const Model& model, const Recording& r) {
    const Settings& settings = r.row.deployment.settings;
    Evaluator evaluator(model);
    ComputePlanner planner(evaluator);
    const ContextPlan context = plan_context(settings, model.n_ctx_train());
    const Placement placement = place(model, {}, settings.mtp);
    set_context(evaluator, settings, context);
    const bool v_trans = settings.flash_attn == FlashAttention::off;
    const std::vector<Cache> caches = plan_caches(evaluator, settings, context, placement, v_trans);
    const QuantMix mix = quant_mix(model, model.architecture->name, FileType::q4_k_m, true);
    const ComputeTrace trace = planner.trace(settings, context, placement, caches, mix.types, r.row.flash_attn == "+");
    Generated g;
    for (const ScheduledNode& step : trace.schedule.steps) {
        const GraphTensor& t = trace.schedule.graph.tensors[static_cast<std::size_t>(step.tensor)];
        if (traits(t.op).view) continue;
        const bool kept = t.layer < 0 || t.layer >= static_cast<std::int32_t>(r.n_layer) || r.layers.contains(t.layer);
        if (kept)
            g.nodes.push_back({node_text(t, trace.replay.allocations[static_cast<std::size_t>(step.tensor)]), t.layer,
                               t.line != nullptr ? t.line->where.text() : std::string("no line")});
    }
    g.compute = std::to_string(trace.replay.buffer_bytes[0]) + ' ' + std::to_string(trace.replay.buffer_bytes[1]);
    g.n_nodes = std::to_string(trace.schedule.graph.n_nodes);
    g.n_splits = std::to_string(trace.schedule.n_splits);
    return g;
}

/// Recorded nodes behind a gap, before layers that were left out: the first few may belong to the end of the last one
/// that is missing (llama.cpp names a residual after the layer that it leads to). Their offsets are that layer's.
std::vector<bool> behind_gap(const std::vector<Node>& recorded) {
    constexpr std::size_t reach = 4;
    std::vector<bool> result(recorded.size());
    for (std::size_t i = 1; i < recorded.size(); ++i) {
        if (recorded[i].layer > recorded[i - 1].layer + 1)
            std::fill_n(result.begin() + static_cast<std::ptrdiff_t>(i), std::min(reach, recorded.size() - i), true);
    }
    return result;
}

std::string without_offset(const std::string& text) { return text.substr(0, text.find(" @")); }

/// The first node that differs and its neighbourhood, or nothing.
std::string first_difference(const std::vector<Node>& ours, const std::vector<Node>& theirs) {
    const std::vector<bool> other_offsets = behind_gap(theirs);
    const auto same = [&](std::size_t i) {
        return ours[i].text == theirs[i].text ||
               (other_offsets[i] && without_offset(ours[i].text) == without_offset(theirs[i].text));
    };
    std::size_t i = 0;
    while (i < ours.size() && i < theirs.size() && same(i)) ++i;
    if (i == ours.size() && i == theirs.size()) return {};
    const auto show = [](const std::vector<Node>& nodes, std::size_t at) {
        if (at >= nodes.size()) return std::string("no node");
        const Node& n = nodes[at];
        return n.text + " (layer " + std::to_string(n.layer) + (n.where.empty() ? "" : ", " + n.where) + ")";
    };
    return "node " + std::to_string(i) + ": " + show(ours, i) + "\n  recorded: " + show(theirs, i) +
           "\n  behind: " + (i == 0 ? std::string("nothing") : show(ours, i - 1));
}

} // namespace

TEST_CASE("every recorded graph is what the architecture's template generates, node by node", "[golden]") {
    std::set<std::string> architectures;
    std::size_t n_models = 0;
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(std::string(VRAMFIT_TEST_DATA) + "/graphs"))
        paths.push_back(entry.path());
    std::ranges::sort(paths);
    for (const std::filesystem::path& path : paths) {
        const std::string id = path.stem().string();
        Model model;
        try {
            model = catalog_model(id);
        } catch (const Error& e) {
            FAIL_CHECK(id << ": " << e.what());
            continue;
        }
        ++n_models;
        architectures.insert(model.architecture->name);
        for (const Recording& recording : read_recordings(path.string(), id)) {
            INFO(id << ' ' << recording.row.settings);
            try {
                const Generated g = generate(model, recording);
                CHECK(first_difference(g.nodes, recording.nodes) == "");
                CHECK(g.compute == recording.row.compute);
                CHECK(g.n_nodes == recording.row.nodes);
                CHECK(g.n_splits == recording.row.splits);
            } catch (const Error& e) {
                FAIL_CHECK(e.what());
            }
        }
    }
    CHECK(n_models == 131);
    CHECK(architectures.size() == 90);
}
