// What llama.cpp v0.4.0 allocated for 15,550 contexts (tests/data/buffers), against the estimator: to the byte.
#include "support/buffer_compare.hpp"

#include "catch.hpp"

#include <cstdio>
#include <functional>
#include <set>

using namespace vramfit;
using namespace vramfit::test;

namespace {

const std::string folder = std::string(VRAMFIT_TEST_DATA) + "/buffers";

/// Rows that differ and are known to: "model<TAB>settings" to the figures. The file says why.
std::map<std::string, std::string> known_differences() {
    std::map<std::string, std::string> known;
    for (const std::string& line : read_lines(folder + "/known_differences.txt")) {
        const auto cells = split(line, "\t");
        known[cells.at(0) + '\t' + cells.at(1)] = cells.at(2);
    }
    return known;
}

std::string figures_of(const std::vector<Difference>& found) {
    std::string text;
    for (const Difference& d : found) text += (text.empty() ? "" : " ") + d.figure;
    return text;
}

/// The bar: compute buffers within 1 % of what was measured, except in rows of known_differences.txt.
constexpr double bar = 0.01;

/// In each kind of placement (the tables' lines with =) of so many lines so many of a hundred have every compute buffer to the byte.
constexpr std::size_t enough_lines = 50, least_equal = 98;

struct Tally {
    std::size_t lines = 0, equal = 0;
    std::size_t compute = 0, weights = 0, caches = 0, flash_attn = 0, graph = 0; ///< equal ones
    std::size_t near = 0;                                                        ///< every device's total within 1 %
    double worst = 0;

    void add(const BufferRow& row, const std::vector<Difference>& found) {
        const bool answered = !has(found, "estimate") && !has(found, "refusal");
        ++lines;
        equal += found.empty();
        compute += answered && !has(found, "compute");
        weights += answered && !has(found, "weights");
        caches += answered && !has(found, "context") && !has(found, "memory");
        flash_attn += answered && !has(found, "flash_attn");
        graph += answered && !has(found, "nodes") && !has(found, "splits");
        near += answered && worst_total_error(row, found) <= bar;
        worst = std::max(worst, answered ? worst_error(found) : 1.0);
    }
};

void print_header(const char* what) {
    std::printf("%-64s %6s %6s %8s %8s %8s %6s %8s %6s  %s\n", what, "lines", "equal", "compute", "weights", "caches",
                "fa", "graph", "total", "worst compute");
}

void print(const std::string& name, const Tally& t) {
    std::printf("%-64s %6zu %6zu %8zu %8zu %8zu %6zu %8zu %6zu  %.3f %%\n", name.c_str(), t.lines, t.equal, t.compute,
                t.weights, t.caches, t.flash_attn, t.graph, t.near, t.worst * 100);
}

/// The groups that a row belongs to.
using Groups = std::function<std::vector<std::string>(const BufferRow&, const std::string& architecture)>;

/// The kinds of placement, from its parts to the whole: one row is of several.
std::vector<std::string> kinds_of(const BufferRow& row, const std::string&) {
    const PlacementRequest& p = row.deployment.placement;
    std::vector<std::string> kinds{row.kind()};
    if (p.n_devices > 0 && !row.all_layers()) kinds.push_back("= some layers on the CPU");
    if (p.n_cpu_moe > 0) kinds.push_back("= experts on the CPU");
    if (!row.deployment.settings.offload_kqv) kinds.push_back("= cache on the host");
    if (p.n_devices > 1) kinds.push_back("= " + std::to_string(p.n_devices) + " devices");
    return kinds;
}

/// Compares the rows that `wanted` picks. Every difference must stand in known_differences.txt, and every row that
/// stands there must differ: the list neither hides a new error nor keeps an old one. Gives the tally of all rows.
Tally check_rows(const std::function<bool(const BufferRow&)>& wanted, const Groups& groups, const char* title) {
    const auto known = known_differences();
    std::map<std::string, Tally> tallies;
    Tally all;
    for (const std::string& architecture : measured_architectures(folder)) {
        RowEstimator estimator;
        for (const BufferRow& row : read_buffer_rows(folder + "/" + architecture + ".tsv")) {
            if (!row.error.empty() || !wanted(row)) continue;
            const std::vector<Difference> found = estimator.differences(row);
            for (const std::string& group : groups(row, architecture)) tallies[group].add(row, found);
            all.add(row, found);
            const auto listed = known.find(row.model + '\t' + row.settings);
            if (listed == known.end() && has(found, "compute") && worst_error(found) > bar)
                FAIL_CHECK(row.model << ' ' << row.settings << ": a compute buffer is more than 1 % off");
            if (listed == known.end() && worst_total_error(row, found) > bar)
                FAIL_CHECK(row.model << ' ' << row.settings << ": a device's total is more than 1 % off");
            const std::string expected = listed == known.end() ? std::string() : listed->second;
            if (figures_of(found) == expected) continue;
            if (found.empty())
                FAIL_CHECK(row.model << ' ' << row.settings << ": equal now, but listed in known_differences.txt");
            else
                FAIL_CHECK(architecture << ", " << row.model << ' ' << row.settings << ':' << text_of(found));
        }
    }
    print_header(title);
    for (const auto& [name, tally] : tallies) {
        print(name, tally);
        INFO(name);
        if (name.starts_with("= ") && tally.lines >= enough_lines)
            CHECK(tally.compute * 100 >= tally.lines * least_equal);
    }
    print("all", all);
    std::fflush(stdout);
    return all;
}

} // namespace

TEST_CASE("one device with every layer: weights, caches and compute buffers are llama.cpp's to the byte", "[golden]") {
    const Tally all = check_rows(
        [](const BufferRow& row) { return row.plain(); },
        [](const BufferRow&, const std::string& architecture) { return std::vector{architecture}; }, "architecture");
    CHECK(all.lines == 8029);
    CHECK(all.equal == all.lines); // none of the listed differences is of this kind
}

TEST_CASE("layers on the CPU, experts on the CPU and several devices: equal but for the listed rows", "[golden]") {
    const Tally all = check_rows([](const BufferRow& row) { return !row.plain(); }, kinds_of, "placement");
    CHECK(all.lines == 7052);
    CHECK(all.lines - all.equal <= 21); // room for what is listed, and not for more
}

TEST_CASE("what llama.cpp refuses is refused, in its own words", "[golden]") {
    std::size_t n = 0;
    const auto known = known_differences();
    for (const std::string& architecture : measured_architectures(folder)) {
        RowEstimator estimator;
        for (const BufferRow& row : read_buffer_rows(folder + "/" + architecture + ".tsv")) {
            if (row.error.empty() || known.contains(row.model + '\t' + row.settings)) continue;
            ++n;
            INFO(architecture << ", " << row.model << ' ' << row.settings);
            const auto refusal = estimator.estimate(row).refusal;
            if (row.error.starts_with("abort")) // a failed assertion of llama.cpp: it cannot run, whatever the words
                CHECK(refusal.has_value());
            else
                CHECK(refusal.value_or("not refused") == row.error);
        }
    }
    CHECK(n == 469);
}

TEST_CASE("90 architectures are measured, and every listed difference belongs to a row, with its reason", "[golden]") {
    CHECK(measured_architectures(folder).size() == 90);
    auto known = known_differences();
    for (const std::string& architecture : measured_architectures(folder)) {
        for (const BufferRow& row : read_buffer_rows(folder + "/" + architecture + ".tsv"))
            known.erase(row.model + '\t' + row.settings);
    }
    for (const auto& [row, figures] : known)
        FAIL_CHECK("known_differences.txt lists a row that does not exist: " << row);

    bool reason = false; // a sentence stands over every group of rows
    for (const std::string& line : split(read_file(folder + "/known_differences.txt"), "\n")) {
        INFO(line);
        if (line.empty()) continue;
        if (line.starts_with("#"))
            reason = line.size() > 20;
        else
            CHECK(reason);
    }
}
