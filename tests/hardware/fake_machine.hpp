#pragma once

#include "support/data_file.hpp"
#include "vramfit/hardware/machine.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace vramfit::test {

/// A computer as tests/data/detect/NAME.txt records it: "platform sysfs", then for each program "$ " and the beginning of
/// its command line, for each file its path; below them what they say, two blanks in front, and "= N", an exit code.
class FakeMachine {
public:
    explicit FakeMachine(const std::string& name) {
        std::string* text = nullptr;
        ProgramOutput* program = nullptr;
        for (const std::string& line :
             split(read_file(std::string(VRAMFIT_TEST_DATA "/detect/") + name + ".txt"), "\n")) {
            if (line.starts_with("  ") && text != nullptr) {
                *text += line.substr(2) + "\n";
            } else if (line.starts_with("$ ")) {
                program = &programs_[line.substr(2)];
                program->found = true;
                text = &program->out;
            } else if (line.starts_with("= ")) {
                program->exit_code = std::stoi(line.substr(2));
            } else if (line.starts_with("/")) {
                text = &files_[line];
            } else if (line.starts_with("platform ")) {
                platform_ = line == "platform sysctl" ? Machine::Platform::sysctl : Machine::Platform::sysfs;
            }
        }
    }

    FakeMachine& set(const std::string& variable, const std::string& value) {
        variables_[variable] = value;
        return *this;
    }

    /// What the program whose command line begins so prints instead.
    FakeMachine& says(const std::string& command, const ProgramOutput& output) {
        programs_[command] = output;
        return *this;
    }

    FakeMachine& file(const std::string& path, const std::string& text) {
        files_[path] = text;
        return *this;
    }

    Machine machine() const {
        Machine machine;
        machine.platform = platform_;
        machine.run = [*this](const std::vector<std::string>& command) { return output_of(command); };
        machine.read = [*this](const std::string& path) -> std::optional<std::string> {
            const auto found = files_.find(path);
            return found == files_.end() ? std::nullopt : std::optional(found->second);
        };
        machine.list = [*this](const std::string& path) { return names_in(path); };
        machine.environment = [*this](std::string_view name) -> std::optional<std::string> {
            const auto found = variables_.find(std::string(name));
            return found == variables_.end() ? std::nullopt : std::optional(found->second);
        };
        return machine;
    }

private:
    ProgramOutput output_of(const std::vector<std::string>& command) const {
        std::string line;
        for (const std::string& word : command) line += (line.empty() ? "" : " ") + word;
        const std::string* best = nullptr;
        for (const auto& [start, output] : programs_)
            if (line.starts_with(start) && (best == nullptr || start.size() > best->size())) best = &start;
        return best == nullptr ? ProgramOutput{} : programs_.at(*best);
    }

    std::vector<std::string> names_in(const std::string& folder) const {
        std::set<std::string> names;
        for (const auto& [path, text] : files_) {
            if (!path.starts_with(folder + "/")) continue;
            const std::string rest = path.substr(folder.size() + 1);
            names.insert(rest.substr(0, rest.find('/')));
        }
        return {names.begin(), names.end()};
    }

    Machine::Platform platform_ = Machine::Platform::sysfs;
    std::map<std::string, ProgramOutput> programs_;
    std::map<std::string, std::string> files_;
    std::map<std::string, std::string> variables_;
};

} // namespace vramfit::test
