#include "vramfit/model/expression.hpp"

#include "vramfit/base/error.hpp"

#include <cctype>
#include <cmath>

namespace vramfit {
namespace {

constexpr int max_depth = 64; // a template is data: bound the recursion that it can ask for

bool is_word_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool is_word(char c, std::string_view also) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || also.find(c) != std::string_view::npos;
}

} // namespace

std::uint32_t NameTable::intern(std::string_view name) {
    if (const auto known = find(name)) return *known;
    const std::uint32_t slot = size();
    names_.emplace_back(name);
    slots_.emplace(names_.back(), slot);
    return slot;
}

std::optional<std::uint32_t> NameTable::find(std::string_view name) const {
    const auto it = slots_.find(name);
    if (it == slots_.end()) return std::nullopt;
    return it->second;
}

void ExpressionParser::fail(const std::string& what) const {
    throw Error("column " + std::to_string(at_ + 1) + ": " + what);
}

void ExpressionParser::skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
}

bool ExpressionParser::at_end() {
    skip_space();
    return at_ == text_.size();
}

bool ExpressionParser::accept(std::string_view token) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != token.front() || !text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
}

void ExpressionParser::expect(std::string_view token) {
    if (!accept(token)) fail("'" + std::string(token) + "' expected");
}

std::string_view ExpressionParser::word(std::string_view also) {
    skip_space();
    const std::size_t start = at_;
    while (at_ < text_.size() && is_word(text_[at_], also)) ++at_;
    return text_.substr(start, at_ - start);
}

std::string_view ExpressionParser::rest() {
    skip_space();
    return text_.substr(at_);
}

void ExpressionParser::push(Expression& e, Expression::Op op, std::uint32_t arg, double value) {
    e.code_.push_back({op, arg, 0, value});
}

std::size_t ExpressionParser::reserve(Expression& e, Expression::Op op, std::uint32_t arg) {
    push(e, op, arg);
    return e.code_.size() - 1;
}

void ExpressionParser::land(Expression& e, std::size_t at) {
    e.code_[at].target = static_cast<std::uint32_t>(e.code_.size());
}

Expression ExpressionParser::parse() {
    Expression e;
    ternary(e);
    return e;
}

Expression ExpressionParser::parse_dimension() {
    Expression e;
    sum(e);
    return e;
}

void ExpressionParser::ternary(Expression& e) {
    if (++depth_ > max_depth) fail("too deeply nested");
    logical_or(e);
    if (accept("?")) {
        const std::size_t otherwise = reserve(e, Expression::Op::jump_false);
        ternary(e);
        const std::size_t end = reserve(e, Expression::Op::jump);
        expect(":");
        land(e, otherwise);
        ternary(e);
        land(e, end);
    }
    --depth_;
}

void ExpressionParser::logical_or(Expression& e) {
    logical_and(e);
    while (accept("||")) {
        const std::size_t end = reserve(e, Expression::Op::or_jump);
        logical_and(e);
        push(e, Expression::Op::to_bool);
        land(e, end);
    }
}

void ExpressionParser::logical_and(Expression& e) {
    comparison(e);
    while (accept("&&")) {
        const std::size_t end = reserve(e, Expression::Op::and_jump);
        comparison(e);
        push(e, Expression::Op::to_bool);
        land(e, end);
    }
}

void ExpressionParser::comparison(Expression& e) {
    using Op = Expression::Op;
    sum(e);
    static constexpr std::pair<std::string_view, Op> operators[] = {{"==", Op::equal},      {"!=", Op::not_equal},
                                                                    {"<=", Op::less_equal}, {">=", Op::greater_equal},
                                                                    {"<", Op::less},        {">", Op::greater}};
    skip_space();
    if (at_ == text_.size() || std::string_view("=!<>").find(text_[at_]) == std::string_view::npos) return;
    for (const auto& [token, op] : operators) {
        if (accept(token)) {
            sum(e);
            push(e, op);
            return;
        }
    }
}

void ExpressionParser::sum(Expression& e) {
    product(e);
    while (true) {
        if (accept("+")) {
            product(e);
            push(e, Expression::Op::add);
        } else if (accept("-")) {
            product(e);
            push(e, Expression::Op::subtract);
        } else {
            return;
        }
    }
}

void ExpressionParser::product(Expression& e) {
    unary(e);
    while (true) {
        if (accept("*")) {
            unary(e);
            push(e, Expression::Op::multiply);
        } else if (accept("/")) {
            unary(e);
            push(e, Expression::Op::divide);
        } else if (accept("%")) {
            unary(e);
            push(e, Expression::Op::modulo);
        } else {
            return;
        }
    }
}

void ExpressionParser::unary(Expression& e) {
    if (++depth_ > max_depth) fail("too deeply nested");
    if (accept("!")) {
        unary(e);
        push(e, Expression::Op::logical_not);
    } else if (accept("-")) {
        unary(e);
        push(e, Expression::Op::negate);
    } else {
        primary(e);
    }
    --depth_;
}

void ExpressionParser::primary(Expression& e) {
    skip_space();
    if (accept("(")) {
        ternary(e);
        expect(")");
        return;
    }
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) return number(e);
    if (at_ >= text_.size() || !is_word_start(text_[at_])) fail("a name, a number or '(' expected");
    const std::string_view name = word();
    if (accept("(")) return call(e, name);
    const std::uint32_t slot = names_.intern(name);
    if (accept("??")) {
        const std::size_t end = reserve(e, Expression::Op::coalesce, slot);
        unary(e);
        land(e, end);
        return;
    }
    push(e, Expression::Op::name, slot);
}

void ExpressionParser::number(Expression& e) {
    double value = 0;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0)
        value = value * 10 + (text_[at_++] - '0');
    push(e, Expression::Op::constant, 0, value);
}

void ExpressionParser::call(Expression& e, std::string_view function) {
    using Op = Expression::Op;
    if (function == "has") {
        push(e, Op::has_tensor, tensors_.intern(word()));
    } else if (function == "key") {
        push(e, Op::has_key, names_.intern(word()));
    } else if (function == "min" || function == "max" || function == "pad") {
        ternary(e);
        expect(",");
        ternary(e);
        push(e, function == "min" ? Op::minimum : function == "max" ? Op::maximum : Op::pad);
    } else if (function == "next" || function == "layers_max" || function == "layers_sum") {
        const std::size_t end = reserve(e, function == "next"         ? Op::next_layer
                                           : function == "layers_max" ? Op::layers_max
                                                                      : Op::layers_sum);
        ternary(e);
        land(e, end);
    } else {
        fail("unknown function '" + std::string(function) + "'");
    }
    expect(")");
}

std::uint64_t to_count(double value, std::string_view what) {
    constexpr double largest = 9007199254740992.0; // 2^53: above it a double no longer counts exactly
    if (!(value >= 0) || value > largest || value != std::floor(value))
        throw Error(std::string(what) + " is not a count: " + std::to_string(value));
    return static_cast<std::uint64_t>(value);
}

} // namespace vramfit
