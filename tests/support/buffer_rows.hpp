#pragma once

#include "data_file.hpp"
#include "vramfit/memory/estimate.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// The contexts that llama.cpp planned with its own code: tests/data/buffers, described in tests/data/README.md.
namespace vramfit::test {

/// One planned context: what was asked, and what llama.cpp allocated.
struct BufferRow {
    std::string model;
    std::string settings; ///< as the file has them
    Deployment deployment;
    bool f16 = false;  ///< the converter's own file, not one that llama-quantize made
    std::string error; ///< llama.cpp refused: its last line

    // Text of the file: bytes by device, the host last.
    std::string flash_attn, compute, nodes, splits, output, weights, context, memory;

    bool all_layers() const { return deployment.placement.n_gpu_layers < 0; }
    bool plain() const {
        return deployment.placement.n_devices == 1 && all_layers() && deployment.placement.n_cpu_moe == 0;
    }
    /// The kind of placement, for tables.
    std::string kind() const {
        const PlacementRequest& p = deployment.placement;
        const std::string experts = p.n_cpu_moe > 0 ? ", experts on the CPU" : "";
        if (p.n_devices == 0) return "CPU only";
        const std::string devices = p.n_devices == 1 ? "1 device" : std::to_string(p.n_devices) + " devices";
        return devices + (all_layers() ? ", all layers" : ", some layers") + experts +
               (deployment.settings.offload_kqv ? "" : ", cache on the host");
    }
};

/// Reads "c=8192 ub=128 fa=on dev=2 ngl=12" into a deployment; the words are llama.cpp's own options.
inline void read_settings(BufferRow& row) {
    Deployment& d = row.deployment;
    Settings& s = d.settings;
    for (const std::string& word : split(row.settings, " ")) {
        const std::size_t equals = word.find('=');
        const std::string key = word.substr(0, equals);
        const std::string value = equals == std::string::npos ? std::string() : word.substr(equals + 1);
        const auto number = [&value] { return std::stoull(value); };
        if (key == "c")
            s.n_ctx = number();
        else if (key == "b")
            s.n_batch = number();
        else if (key == "ub")
            s.n_ubatch = number();
        else if (key == "np")
            s.n_seq_max = number();
        else if (key == "kvu")
            s.kv_unified = true;
        else if (key == "ctk")
            s.type_k = parse_tensor_type(value).value();
        else if (key == "ctv")
            s.type_v = parse_tensor_type(value).value();
        else if (key == "fa")
            s.flash_attn = value == "on" ? FlashAttention::on : FlashAttention::off;
        else if (key == "swa-full")
            s.swa_full = true;
        else if (key == "nkvo")
            s.offload_kqv = false;
        else if (key == "no-op-offload")
            s.op_offload = false;
        else if (key == "out")
            s.n_outputs_max = number();
        else if (key == "embeddings")
            s.embeddings = true;
        else if (key == "mtp")
            s.mtp = true;
        else if (key == "dev")
            d.placement.n_devices = static_cast<std::uint32_t>(number());
        else if (key == "ngl")
            d.placement.n_gpu_layers = static_cast<std::int64_t>(number());
        else if (key == "ncmoe")
            d.placement.n_cpu_moe = static_cast<std::uint32_t>(number());
        else if (key == "no-imatrix")
            d.imatrix = false;
        else if (key == "ts") {
            for (const std::string& share : split(value, ",")) d.placement.tensor_split.push_back(std::stod(share));
        } else if (key == "pooling" || key == "real" || key == "sm") {
            // pooling: the encoders' own kind; real: measured by a real load; sm=none: one of two devices is used
        } else {
            d.file_type = parse_file_type(key);
            row.f16 = d.file_type == FileType::f16;
        }
    }
}

/// The rows of one architecture's file, in order of the file: a model's rows stand together.
inline std::vector<BufferRow> read_buffer_rows(const std::string& path) {
    std::vector<BufferRow> rows;
    std::string model;
    std::array<std::string, 8> figures;
    for (const std::string& line : read_lines(path)) {
        if (line.starts_with("> ")) {
            model = line.substr(2);
            continue;
        }
        const std::vector<std::string> cells = split(line, "\t");
        BufferRow row;
        row.model = model;
        row.settings = cells.front();
        read_settings(row);
        if (cells.size() == 2 && cells[1].starts_with("! ")) {
            row.error = cells[1].substr(2);
        } else {
            for (std::size_t i = 0; i < figures.size(); ++i) {
                if (i + 1 < cells.size() && cells[i + 1] != "=") figures[i] = cells[i + 1];
            }
            row.flash_attn = figures[0];
            row.compute = figures[1];
            row.nodes = figures[2];
            row.splits = figures[3];
            row.output = figures[4];
            row.weights = figures[5];
            row.context = figures[6];
            row.memory = figures[7];
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

/// The architectures that have a file, sorted.
inline std::vector<std::string> measured_architectures(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".tsv") names.push_back(entry.path().stem().string());
    }
    std::ranges::sort(names);
    return names;
}

} // namespace vramfit::test
