#include "graph_parser.hpp"

#include "vramfit/base/error.hpp"

#include <algorithm>

namespace vramfit {
namespace {

constexpr int max_block_depth = 8;
constexpr std::size_t max_lines = 20000; // blocks within blocks multiply: far above every architecture

} // namespace

std::uint32_t GraphParser::result_slot(std::string_view name) {
    const auto [it, added] = results_.try_emplace(std::string(name), static_cast<std::uint32_t>(results_.size()));
    arch_.graph.n_results = static_cast<std::uint32_t>(results_.size());
    return it->second;
}

std::uint32_t GraphParser::known_result(std::string_view name, const ExpressionParser& in) const {
    const auto it = results_.find(name);
    if (it == results_.end()) in.fail("'" + std::string(name) + "' is not the result of an earlier line");
    return it->second;
}

std::int32_t GraphParser::input_index(std::string_view name, const ExpressionParser& in) const {
    for (std::size_t i = 0; i < arch_.graph.inputs.size(); ++i) {
        if (arch_.graph.inputs[i].name == name) return static_cast<std::int32_t>(i);
    }
    in.fail("no input '@" + std::string(name) + "' is declared");
}

void GraphParser::parse_type(std::string_view text, NodeType& node_type, TensorType& type,
                             const ExpressionParser& in) const {
    if (text == "type_k") {
        node_type = NodeType::type_k;
    } else if (text == "type_v") {
        node_type = NodeType::type_v;
    } else if (text == "type_mask") {
        node_type = NodeType::type_mask;
    } else if (const auto known = parse_tensor_type(text)) {
        type = *known;
    } else {
        in.fail("unknown type '" + std::string(text) + "'");
    }
}

void GraphParser::parse_dimensions(ExpressionParser& in, std::vector<Expression>& ne) {
    do {
        ne.push_back(in.parse_dimension());
    } while (in.accept(","));
    if (ne.size() > 4) in.fail("a tensor has at most four dimensions");
}

void GraphParser::add_input(const std::string& name, const std::string& text, const std::string& file) {
    InputTemplate input;
    input.name = name;
    input.where = file + ", input '" + name + "'";
    try {
        ExpressionParser in(text, arch_.names, arch_.tensors);
        parse_type(in.word(), input.node_type, input.type, in);
        parse_dimensions(in, input.ne);
        if (in.accept("per cache"))
            input.scope = InputTemplate::Scope::cache;
        else if (in.accept("per layer"))
            input.scope = InputTemplate::Scope::layer;
        else if (in.accept("view of"))
            input.view_of = input_index(in.word(), in);
        input.scratch = in.accept("scratch");
        if (!in.at_end()) in.fail("'" + std::string(in.rest()) + "' is not understood");
    } catch (const Error& e) {
        throw Error(input.where + ": " + e.what());
    }
    for (InputTemplate& other : arch_.graph.inputs) {
        if (other.name == name) {
            other = std::move(input);
            return;
        }
    }
    arch_.graph.inputs.push_back(std::move(input));
}

void GraphParser::parse_section(const Lines& lines, const std::string& label, std::vector<GraphLine>& out) {
    const auto section = std::make_shared<const std::string>(label);
    out.reserve(lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i)
        parse_line(lines[i], {section, static_cast<std::uint32_t>(i + 1)}, {}, 0, out);
}

void GraphParser::parse_line(const std::string& text, const Origin& where, const std::vector<std::uint32_t>& conditions,
                             int depth, std::vector<GraphLine>& out) {
    if (out.size() >= max_lines)
        throw Error(where.text() + ": the graph has more than " + std::to_string(max_lines) + " lines");
    GraphLine line;
    line.where = where;
    line.conditions = conditions;
    try {
        ExpressionParser in(text, arch_.names, arch_.tensors);
        if (in.accept("#")) return parse_block(in, conditions, depth, out);
        if (in.accept("@")) {
            line.kind = GraphLine::Kind::touch;
            SourceRef input;
            input.kind = SourceRef::Kind::input;
            input.index = input_index(in.word(), in);
            line.sources.push_back(input);
        } else {
            const std::string name(in.word("_"));
            if (name.empty()) in.fail("a name, '#block' or '@input' expected");
            if (in.accept("=") || in.accept(":=")) {
                parse_definition(in, name, line);
            } else if (const auto op = parse_op(name)) {
                parse_store(in, *op, line);
            } else {
                in.fail("'=' or ':=' expected behind '" + name + "'");
            }
        }
        parse_condition(in, line.conditions);
    } catch (const Error& e) {
        throw Error(where.text() + ": " + e.what() + " in \"" + text + "\"");
    }
    out.push_back(std::move(line));
}

void GraphParser::parse_block(ExpressionParser& in, std::vector<std::uint32_t> conditions, int depth,
                              std::vector<GraphLine>& out) {
    const std::string name(in.word("_"));
    const auto block = blocks_.find(name);
    if (block == blocks_.end()) in.fail("no block '#" + name + "'");
    if (depth >= max_block_depth) in.fail("blocks are nested too deeply, or '#" + name + "' contains itself");
    GraphLine repeat;
    repeat.kind = GraphLine::Kind::repeat;
    repeat.where = {block->second.label, 0};
    if (in.accept("*")) repeat.times = in.parse_dimension();
    parse_condition(in, conditions);
    const std::size_t first = out.size();
    const bool repeats = !repeat.times.empty();
    if (repeats) {
        repeat.conditions = conditions;
        out.push_back(std::move(repeat));
    }
    const std::vector<std::string>& lines = block->second.lines;
    for (std::size_t i = 0; i < lines.size(); ++i)
        parse_line(lines[i], {block->second.label, static_cast<std::uint32_t>(i + 1)}, conditions, depth + 1, out);
    if (repeats) out[first].n_lines = static_cast<std::uint32_t>(out.size() - first - 1);
}

void GraphParser::parse_definition(ExpressionParser& in, const std::string& name, GraphLine& line) {
    // ":=" was read by its "=" only where no ':' stood before it; a source without an operation is an alias.
    const std::string op_name(in.word("_"));
    const auto op = parse_op(op_name);
    if (!op) {
        line.kind = GraphLine::Kind::alias;
        SourceRef source;
        source.index = static_cast<std::int32_t>(known_result(op_name, in));
        line.sources.push_back(source);
    } else {
        line.op = *op;
        if (in.accept(".")) parse_type(in.word("_"), line.node_type, line.type, in);
        if (!in.rest().starts_with("<"))
            parse_dimensions(in, line.ne);
        else if (line.op != Op::view)
            in.fail(op_name + " needs dimensions");
        in.expect("<");
        parse_sources(in, line);
        parse_attributes(in, line);
        check_sources(in, line);
    }
    line.result = result_slot(name);
}

/// What the graph's builder relies on.
void GraphParser::check_sources(const ExpressionParser& in, const GraphLine& line) {
    std::size_t least = 0;
    if (line.op == Op::view || line.op == Op::set_rows || line.op == Op::get_rows || line.in_place) least = 1;
    if (line.op == Op::lightning_indexer) least = 2;
    const auto required = std::ranges::count_if(line.sources, [](const SourceRef& source) { return !source.optional; });
    if (static_cast<std::size_t>(required) < least) in.fail("too few sources");
    if (line.op != Op::sum_experts) return;
    if (line.sources.size() != 1 || line.sources.front().kind != SourceRef::Kind::result || line.count.empty())
        in.fail("SUM_EXPERTS needs one earlier result and n=");
}

void GraphParser::parse_store(ExpressionParser& in, Op op, GraphLine& line) {
    line.kind = GraphLine::Kind::store;
    line.op = op;
    line.destination = parse_source(in);
    if (line.destination.kind != SourceRef::Kind::cache) in.fail("a cache ('%k') expected");
    if (in.accept("<")) parse_sources(in, line);
    parse_attributes(in, line);
}

void GraphParser::parse_sources(ExpressionParser& in, GraphLine& line) {
    while (!in.at_end() && !in.rest().starts_with("|") && !in.rest().starts_with("? "))
        line.sources.push_back(parse_source(in));
}

SourceRef GraphParser::parse_source(ExpressionParser& in) {
    std::uint8_t views = 0;
    while (in.accept("~")) ++views;
    SourceRef source;
    if (in.accept("@")) {
        source.kind = SourceRef::Kind::input;
        source.index = input_index(in.word("_"), in);
    } else if (in.accept("%")) {
        source = parse_cache(in);
    } else if (in.accept("$")) {
        source = parse_weight(in);
    } else {
        const std::string_view name = in.word("_");
        if (name.empty()) in.fail("a source expected");
        source.index = static_cast<std::int32_t>(known_result(name, in));
    }
    source.views = views;
    return source;
}

SourceRef GraphParser::parse_cache(ExpressionParser& in) {
    SourceRef source;
    source.kind = SourceRef::Kind::cache;
    std::string_view part = in.word("_");
    if (in.accept(".")) {
        for (std::size_t i = 0; i < arch_.caches.size(); ++i) {
            if (arch_.caches[i].name == part) source.index = static_cast<std::int32_t>(i);
        }
        if (source.index < 0) in.fail("no cache '" + std::string(part) + "'");
        part = in.word("_");
    }
    if (part == "k")
        source.part = CachePart::k;
    else if (part == "v")
        source.part = CachePart::v;
    else if (part == "r")
        source.part = CachePart::r;
    else if (part == "s")
        source.part = CachePart::s;
    else
        in.fail("'%" + std::string(part) + "' is none of %k %v %r %s");
    source.next_layer = in.accept("+");
    return source;
}

SourceRef GraphParser::parse_weight(ExpressionParser& in) {
    SourceRef source;
    source.kind = SourceRef::Kind::weight;
    source.optional = in.accept("?");
    source.global = in.accept(".");
    const std::string_view name = in.word("_.");
    if (name.empty()) in.fail("the name of a tensor expected");
    source.index = static_cast<std::int32_t>(arch_.tensors.intern(name));
    source.next_layer = in.accept("+");
    return source;
}

void GraphParser::parse_attributes(ExpressionParser& in, GraphLine& line) {
    if (!in.accept("|")) return;
    while (!in.at_end() && !in.rest().starts_with("? ")) {
        const std::string name(in.word("_"));
        bool* const flag = name == "host"        ? &line.on_host
                           : name == "inplace"   ? &line.in_place
                           : name == "free"      ? &line.free
                           : name == "attention" ? &line.attention
                                                 : nullptr;
        if (flag != nullptr) {
            *flag = true;
            continue;
        }
        const bool has_value = in.accept("=");
        if (name == "out") {
            ExpressionParser one("1", arch_.names, arch_.tensors);
            line.output = has_value ? in.parse_dimension() : one.parse();
            continue;
        }
        if (!has_value) in.fail("unknown attribute '" + name + "'");
        Expression value = in.parse_dimension();
        if (name == "bytes")
            line.bytes = std::move(value);
        else if (name == "cut")
            line.cut = std::move(value);
        else if (name == "n")
            line.count = std::move(value);
        else
            in.fail("unknown attribute '" + name + "'");
    }
}

void GraphParser::parse_condition(ExpressionParser& in, std::vector<std::uint32_t>& conditions) {
    if (in.accept("?")) {
        arch_.conditions.push_back(in.parse());
        conditions.push_back(static_cast<std::uint32_t>(arch_.conditions.size() - 1));
    }
    if (!in.at_end()) in.fail("'" + std::string(in.rest()) + "' is not understood");
}

} // namespace vramfit
