// Lists the rows of tests/data/buffers that the estimator does not equal, in the form of known_differences.txt:
//     buffer_differences [ARCHITECTURE | --verbose]...
#include "support/buffer_compare.hpp"

#include <iostream>
#include <set>

using namespace vramfit::test;

int main(int argc, char** argv) {
    const std::string folder = std::string(VRAMFIT_TEST_DATA) + "/buffers";
    std::set<std::string> wanted(argv + 1, argv + argc);
    const bool verbose = wanted.erase("--verbose") > 0;
    for (const std::string& architecture : measured_architectures(folder)) {
        if (!wanted.empty() && !wanted.contains(architecture)) continue;
        RowEstimator estimator;
        for (const BufferRow& row : read_buffer_rows(folder + "/" + architecture + ".tsv")) {
            std::string figures;
            if (!row.error.empty()) {
                std::optional<std::string> refusal;
                try {
                    refusal = estimator.estimate(row).refusal;
                } catch (const vramfit::Error& e) {
                    refusal = e.what();
                }
                if (!refusal || (*refusal != row.error && !row.error.starts_with("abort"))) figures = "refusal";
                if (verbose && !figures.empty())
                    figures += "\n    " + refusal.value_or("none") + ", measured " + row.error;
            } else {
                const auto found = estimator.differences(row);
                for (const Difference& d : found) figures += (figures.empty() ? "" : " ") + d.figure;
                if (verbose) figures += text_of(found);
            }
            if (!figures.empty()) std::cout << row.model << '\t' << row.settings << '\t' << figures << '\n';
        }
    }
}
