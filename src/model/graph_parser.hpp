#pragma once

#include "vramfit/model/architecture.hpp"

#include <map>
#include <string>
#include <vector>

namespace vramfit {

/// Reads the graph sections of an architecture's file into `architecture`; see data/architectures/README.md.
class GraphParser {
public:
    using Lines = std::vector<std::string>;
    struct Block {
        Lines lines;
        std::shared_ptr<const std::string> label; ///< "common.json, block 'embed'"
    };

    explicit GraphParser(Architecture& architecture) : arch_(architecture) {}

    /// Declares the block `name`; a later declaration replaces an earlier one.
    void add_block(const std::string& name, Block block) { blocks_[name] = std::move(block); }
    /// Declares the input `name` from its text, "f32 n_embd, n_tokens per cache".
    void add_input(const std::string& name, const std::string& text, const std::string& file);
    /// Appends the lines of one section to `out`. `label` names the section in messages: "llama.json, graph.layer".
    void parse_section(const Lines& lines, const std::string& label, std::vector<GraphLine>& out);

private:
    void parse_line(const std::string& text, const Origin& where, const std::vector<std::uint32_t>& conditions,
                    int depth, std::vector<GraphLine>& out);
    void parse_block(ExpressionParser& in, std::vector<std::uint32_t> conditions, int depth,
                     std::vector<GraphLine>& out);
    void parse_definition(ExpressionParser& in, const std::string& name, GraphLine& line);
    static void check_sources(const ExpressionParser& in, const GraphLine& line);
    void parse_store(ExpressionParser& in, Op op, GraphLine& line);
    void parse_type(std::string_view text, NodeType& node_type, TensorType& type, const ExpressionParser& in) const;
    void parse_dimensions(ExpressionParser& in, std::vector<Expression>& ne);
    void parse_sources(ExpressionParser& in, GraphLine& line);
    SourceRef parse_source(ExpressionParser& in);
    SourceRef parse_cache(ExpressionParser& in);
    SourceRef parse_weight(ExpressionParser& in);
    void parse_attributes(ExpressionParser& in, GraphLine& line);
    void parse_condition(ExpressionParser& in, std::vector<std::uint32_t>& conditions);
    std::int32_t input_index(std::string_view name, const ExpressionParser& in) const;
    std::uint32_t result_slot(std::string_view name);
    std::uint32_t known_result(std::string_view name, const ExpressionParser& in) const;

    Architecture& arch_;
    std::map<std::string, Block, std::less<>> blocks_;
    std::map<std::string, std::uint32_t, std::less<>> results_;
};

} // namespace vramfit
