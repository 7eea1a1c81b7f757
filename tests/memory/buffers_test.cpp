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

struct Tally {
    std::size_t lines = 0, equal = 0;
    std::size_t compute = 0, weights = 0, caches = 0, flash_attn = 0, graph = 0; ///< equal ones
    double worst = 0;

    void add(const std::vector<Difference>& found) {
        const bool answered = !has(found, "estimate") && !has(found, "refusal");
        ++lines;
        equal += found.empty();
        compute += answered && !has(found, "compute");
        weights += answered && !has(found, "weights");
        caches += answered && !has(found, "context") && !has(found, "memory");
        flash_attn += answered && !has(found, "flash_attn");
        graph += answered && !has(found, "nodes") && !has(found, "splits");
        worst = std::max(worst, answered ? worst_error(found) : 1.0);
    }
};

void print_header(const char* what) {
    std::printf("%-64s %6s %6s %8s %8s %8s %6s %8s  %s\n", what, "lines", "equal", "compute", "weights", "caches", "fa",
                "graph", "worst compute");
}

void print(const std::string& name, const Tally& t) {
    std::printf("%-64s %6zu %6zu %8zu %8zu %8zu %6zu %8zu  %.3f %%\n", name.c_str(), t.lines, t.equal, t.compute,
                t.weights, t.caches, t.flash_attn, t.graph, t.worst * 100);
}

/// Compares the rows that `wanted` picks. Every difference must stand in known_differences.txt, and every row that
/// stands there must differ: the list neither hides a new error nor keeps an old one.
void check_rows(const std::function<bool(const BufferRow&)>& wanted,
                const std::function<std::string(const BufferRow&, const std::string& architecture)>& group,
                const char* title) {
    const auto known = known_differences();
    std::map<std::string, Tally> tallies;
    Tally all;
    for (const std::string& architecture : measured_architectures(folder)) {
        RowEstimator estimator;
        for (const BufferRow& row : read_buffer_rows(folder + "/" + architecture + ".tsv")) {
            if (!row.error.empty() || !wanted(row)) continue;
            const std::vector<Difference> found = estimator.differences(row);
            tallies[group(row, architecture)].add(found);
            all.add(found);
            const auto listed = known.find(row.model + '\t' + row.settings);
            const std::string expected = listed == known.end() ? std::string() : listed->second;
            if (figures_of(found) == expected) continue;
            if (found.empty())
                FAIL_CHECK(row.model << ' ' << row.settings << ": equal now, but listed in known_differences.txt");
            else
                FAIL_CHECK(architecture << ", " << row.model << ' ' << row.settings << ':' << text_of(found));
        }
    }
    print_header(title);
    for (const auto& [name, tally] : tallies) print(name, tally);
    print("all", all);
    std::fflush(stdout);
}

} // namespace

TEST_CASE("one device with every layer: weights, caches and compute buffers are llama.cpp's to the byte", "[golden]") {
    check_rows([](const BufferRow& row) { return row.plain(); },
               [](const BufferRow&, const std::string& architecture) { return architecture; }, "architecture");
}

TEST_CASE("layers on the CPU, experts on the CPU and several devices: equal but for the listed rows", "[golden]") {
    check_rows([](const BufferRow& row) { return !row.plain(); },
               [](const BufferRow& row, const std::string&) { return row.kind(); }, "placement");
}

TEST_CASE("at most 2 % of the rows of any kind of placement differ in compute, at most 1 % with one whole device",
          "[golden]") {
    std::map<std::string, std::pair<std::size_t, std::size_t>>
        counts; // by architecture or kind: rows, rows with another compute buffer
    const auto known = known_differences();
    for (const std::string& architecture : measured_architectures(folder)) {
        for (const BufferRow& row : read_buffer_rows(folder + "/" + architecture + ".tsv")) {
            if (!row.error.empty()) continue;
            const PlacementRequest& p = row.deployment.placement;
            const char* placement = p.n_cpu_moe > 0    ? "placement: experts on the CPU"
                                    : row.all_layers() ? "placement: all layers on several devices"
                                                       : "placement: some layers";
            auto& [rows, different] = counts[row.plain() ? architecture : std::string(placement)];
            ++rows;
            const auto listed = known.find(row.model + '\t' + row.settings);
            different += listed != known.end() && listed->second.find("compute") != std::string::npos;
        }
    }
    for (const auto& [group, count] : counts) {
        INFO(group << ": " << count.second << " of " << count.first);
        const bool placement = group.starts_with("placement");
        CHECK(count.second * 100 <= count.first * (placement ? 2 : 1));
    }
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
    CHECK(n > 450);
}

TEST_CASE("every listed difference belongs to a row", "[golden]") {
    auto known = known_differences();
    for (const std::string& architecture : measured_architectures(folder)) {
        for (const BufferRow& row : read_buffer_rows(folder + "/" + architecture + ".tsv"))
            known.erase(row.model + '\t' + row.settings);
    }
    for (const auto& [row, figures] : known)
        FAIL_CHECK("known_differences.txt lists a row that does not exist: " << row);
}
