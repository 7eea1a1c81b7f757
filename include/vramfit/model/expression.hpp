#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace vramfit {

/// The small expression language of data/architectures (its README is the reference): whole-number arithmetic over the
/// symbols of an architecture, a model's hyperparameters and a deployment's settings.
///
/// Values are doubles that hold whole numbers up to 2^53 exactly, so that no product of hostile hyperparameters can
/// overflow into a small size; whoever turns one into bytes checks the range (`to_count`).
class Expression {
public:
    enum class Op : std::uint8_t {
        constant,   // push value
        name,       // push the value of slot `arg`
        has_tensor, // push whether tensor slot `arg` exists
        has_key,    // push whether the hyperparameter of slot `arg` exists
        coalesce,   // a ?? b: where slot `arg` exists push it and jump to `target`
        negate,
        logical_not,
        add,
        subtract,
        multiply,
        divide, // rounds down
        modulo,
        equal,
        not_equal,
        less,
        less_equal,
        greater,
        greater_equal,
        minimum,
        maximum,
        pad,
        jump,       // to `target`
        jump_false, // pop; to `target` where it is 0
        and_jump,   // a && b: where the top is 0 leave 0 and jump
        or_jump,    // a || b: where the top is not 0 leave 1 and jump
        to_bool,
        next_layer, // evaluate the code up to `target` in layer il + 1
        layers_max, // ... over all blocks
        layers_sum,
    };
    struct Instruction {
        Op op;
        std::uint32_t arg = 0;
        std::uint32_t target = 0;
        double value = 0;
    };

    bool empty() const { return code_.empty(); }
    const std::vector<Instruction>& code() const { return code_; }

private:
    friend class ExpressionParser;
    std::vector<Instruction> code_;
};

/// Names of an architecture by number: symbols, built-ins and hyperparameters share one table, tensors have their own.
class NameTable {
public:
    std::uint32_t intern(std::string_view name);
    std::optional<std::uint32_t> find(std::string_view name) const;
    std::uint32_t size() const { return static_cast<std::uint32_t>(names_.size()); }
    const std::string& at(std::uint32_t slot) const { return names_[slot]; }

private:
    struct Hash {
        using is_transparent = void; // NOLINT(readability-identifier-naming): the standard library looks for it
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    };
    std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> slots_;
    std::vector<std::string> names_;
};

/// Reads expressions and the other tokens of a template line from `text`, left to right.
class ExpressionParser {
public:
    ExpressionParser(std::string_view text, NameTable& names, NameTable& tensors)
        : text_(text),
          names_(names),
          tensors_(tensors) {}

    /// A whole expression. Throws Error with the column.
    Expression parse();
    /// A sum or product without comparison at its top level, as dimensions are written.
    Expression parse_dimension();

    bool at_end();
    bool accept(std::string_view token); ///< skips white space, then `token` if it is next
    void expect(std::string_view token);
    /// A word of letters, digits and the given other characters; empty where there is none.
    std::string_view word(std::string_view also = "_.");
    std::string_view rest();
    [[noreturn]] void fail(const std::string& what) const;

private:
    void ternary(Expression& e);
    void logical_or(Expression& e);
    void logical_and(Expression& e);
    void comparison(Expression& e);
    void sum(Expression& e);
    void product(Expression& e);
    void unary(Expression& e);
    void primary(Expression& e);
    void call(Expression& e, std::string_view function);
    void number(Expression& e);
    void skip_space();
    void push(Expression& e, Expression::Op op, std::uint32_t arg = 0, double value = 0);
    std::size_t reserve(Expression& e, Expression::Op op, std::uint32_t arg = 0);
    static void land(Expression& e, std::size_t at);

    std::string_view text_;
    std::size_t at_ = 0;
    int depth_ = 0;
    NameTable& names_;
    NameTable& tensors_;
};

/// `value` as a count; throws Error naming `what` where it is negative, not whole or above 2^53.
std::uint64_t to_count(double value, std::string_view what);

} // namespace vramfit
