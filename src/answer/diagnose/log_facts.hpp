#pragma once

#include "vramfit/answer/diagnosis.hpp"
#include "vramfit/model/hparams.hpp"
#include "vramfit/model/tensor_type.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// A number and the line that it stands on.
struct Logged {
    std::uint64_t value = 0;
    std::uint64_t line = 0;
};
using OptionalLogged = std::optional<Logged>;

enum class BufferKind : std::uint8_t { weights, kv_cache, recurrent_state, compute, output };

/// Which model of a load a line belongs to.
enum class LoadPart : std::uint8_t { model, projector, draft };

struct LogBuffer {
    BufferKind kind = BufferKind::weights;
    LoadPart part = LoadPart::model;
    std::string device;
    std::uint64_t bytes = 0;
    std::uint64_t line = 0;
};

struct LogDevice {
    std::string name; ///< "CUDA0"
    std::string description;
    OptionalLogged total, free;
};

/// Who asked for memory that was not there, as far as the line itself tells.
enum class Asker : std::uint8_t { unknown, tensors, graph };

/// A row of the table of memory that llama.cpp prints when it ends, in whole MiB.
struct LogTableRow {
    std::string device; ///< "CUDA0"; "Host"
    std::uint64_t weights = 0, context = 0, compute = 0;
    std::uint64_t line = 0;
};

/// Memory that was asked for and refused. Not yet a failure: some refusals are survived.
struct LogRefusal {
    std::string device;
    OptionalLogged bytes;
    Asker asker = Asker::unknown;
    bool per_buffer_limit = false;
    OptionalLogged limit; ///< of a single buffer
    std::uint64_t line = 0;
};

struct LogFailure {
    FailureStage stage = FailureStage::none;
    FailureStage before_limit = FailureStage::none; ///< what a buffer above the limit of one was for
    std::optional<FailureCause> cause;              ///< where the line itself tells
    LogRefusal refusal;
    LoadPart part = LoadPart::model;
    bool time_known = true; ///< the log shows whether the model had come up
    std::uint64_t line = 0;
    std::string text;
};

/// A text and the line that it stands on.
struct LoggedText {
    std::string text;
    std::uint64_t line = 0;
};

/// One start of a model: everything that the log says of it.
struct Load {
    std::uint64_t first_line = 0;
    std::string path, name, arch, quant, gpu, version;
    std::string_view program;                                     ///< of programs(), that uses another runtime's code
    std::map<std::string, Logged, std::less<>> numbers;           ///< "n_ctx", "n_layer", "weights", "free", ...
    std::map<std::string, std::string, std::less<>> texts;        ///< "cache_type_k", "flash_attn", ...
    std::map<std::string, std::string, std::less<>> options;      ///< of a command line: "ctx", "8192"
    std::map<std::string, std::uint64_t, std::less<>> text_lines; ///< where `texts` stand
    std::uint64_t options_line = 0;
    LoggedText path_seen, name_seen, quant_seen; ///< where path, name and quant got what they hold
    Hparams hparams;                             ///< of the model's metadata, as far as the log lists them
    bool has_keys = false;                       ///< it lists the keys of the file
    bool imatrix = false;                        ///< they tell of an importance matrix
    std::vector<LogDevice> devices;
    std::vector<LogBuffer> buffers;
    std::vector<LogTableRow> table;
    std::vector<std::string> notes;
    std::vector<LogLine> evidence;     ///< the lines that matter
    std::optional<LogRefusal> refusal; ///< the last one that nothing was decided about
    std::optional<LogFailure> failure; ///< of memory, or of a setting
    std::optional<LogLine> other_error;
    bool dead = false;     ///< it gave up
    bool ready = false;    ///< it came up
    bool windows = false;  ///< paths and programs are those of Windows
    bool retried = false;  ///< the runtime tried again by itself
    bool survived = false; ///< a refusal was survived
    bool has_context = false;
    LoadPart part = LoadPart::model;

    OptionalLogged number(std::string_view key) const;
    LogDevice& device(std::string_view wanted);
    const LogDevice* find_device(std::string_view wanted) const;

    /// Sum of the model's own buffers of a kind: on devices, on the host, or on the device `name`.
    OptionalLogged sum(BufferKind kind, bool host) const;
    std::uint64_t on_device(std::string_view wanted) const; ///< all buffers there
    bool has_buffers() const { return !buffers.empty(); }
    bool has_cache() const; ///< of any kind
    bool failed() const { return failure || other_error; }
};

/// Whether it asks for memory through PyTorch, whose refusals show what was free at that moment.
bool runs_pytorch(LogRuntime runtime);

/// What was being done, by how far the load had come: only what had come up can generate.
FailureStage stage_of_progress(const Load& load);

/// Whether both loads are of one model, with the settings that memory depends on as far as both tell them.
bool is_same_attempt(const Load& a, const Load& b);

/// Buffers of the computer's own memory: "CPU", "CPU_Mapped", "CUDA_Host", "BLAS", "AMX". "Metal_Mapped" is the GPU's.
bool is_host_buffer(std::string_view name);

/// "CUDA0" for "CUDA0_Split", "MTL0" for "MTL0_Mapped".
std::string_view device_of_buffer(std::string_view name);

/// "Q4_K_M" for "Q4_K - Medium", "mostly Q4_K - Medium", "Q4_K_M"; nothing where it is no file type.
std::string file_type_of_text(std::string_view text);

/// Everything that a log says: the loads that matter, and who wrote it.
struct LogFacts {
    std::array<std::uint32_t, 10> signs{};  ///< by LogRuntime: lines that only it writes
    std::optional<Load> last;               ///< the last load
    std::optional<Load> last_failed;        ///< the last that failed, where it is not `last`
    std::optional<Load> last_complete;      ///< the last with weights and caches, where it is not `last`
    std::vector<std::string> private_names; ///< of users and hosts
    std::uint64_t n_lines = 0;
    std::uint64_t n_bytes = 0;

    LogRuntime runtime() const;
};

} // namespace vramfit
