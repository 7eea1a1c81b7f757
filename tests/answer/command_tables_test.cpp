#include "answer/deployment/command_table.hpp"

#include "catch.hpp"
#include "support/errors.hpp"
#include "vramfit/answer/settings_text.hpp"
#include "vramfit/memory/runtime.hpp"

#include <algorithm>
#include <set>

using namespace vramfit;

TEST_CASE("the tables of command lines know settings, and each flag once") {
    const auto tables = command_tables();
    CHECK(tables.size() == 7);
    for (const CommandTable& table : tables) {
        REQUIRE_FALSE(table.programs.empty());
        INFO(table.programs.front().runtime);
        std::set<std::string> others; // flags that are no setting
        std::set<std::pair<std::string, std::string>> said;
        for (const CommandOption& option : table.options) {
            const bool setting = option.effect == CommandOption::Effect::setting;
            if (setting) {
                INFO(option.setting);
                CHECK((is_setting(option.setting) || !option.defaults.empty()));
                if (option.takes == CommandOption::Takes::nothing && option.implied.empty())
                    CHECK(is_switch(option.setting));
                if (!option.off.empty()) CHECK(is_switch(option.setting));
            }
            for (const auto* const flags : {&option.flags, &option.off}) {
                for (const std::string& flag : *flags) {
                    INFO(flag);
                    CHECK(flag.starts_with('-'));
                    CHECK(said.emplace(option.setting, flag).second);
                    if (!setting) CHECK(others.insert(flag).second);
                }
            }
        }
        for (const auto& [setting, flag] : said) {
            INFO(flag);
            if (!setting.empty()) CHECK_FALSE(others.contains(flag));
        }
        for (const auto& [setting, text] : table.defaults) CHECK(is_setting(setting));
    }
}

TEST_CASE("every flag and variable that a profile writes is one that its table reads as a setting") {
    const auto is_read = [](const std::vector<const CommandOption*>& options) {
        return std::ranges::any_of(
            options, [](const CommandOption* option) { return option->effect == CommandOption::Effect::setting; });
    };
    std::size_t n_checked = 0;
    for (const RuntimeProfile& profile : runtimes()) {
        const auto table = command_table_of(profile.id);
        if (!table) continue; // it has no command
        INFO(profile.id);
        for (const auto& [setting, flag] : profile.flags) {
            if (flag.empty()) continue; // told without one
            INFO(setting);
            CHECK(is_read(table->find_flag(flag.substr(0, flag.find(' ')))));
            ++n_checked;
        }
        for (const auto& [setting, variable] : profile.environment) {
            INFO(setting);
            CHECK(is_read(table->find_key(variable)));
            ++n_checked;
        }
    }
    CHECK(n_checked > 60);
}

TEST_CASE("flags and keys are found by every spelling") {
    const auto table = command_table_of("llama.cpp");
    REQUIRE(table);
    CHECK(table->find_flag("--ctx_size").front()->setting == "ctx");
    CHECK(table->find_flag("-ctx").empty());
    CHECK(table->find_key("ctx-size").front()->setting == "ctx");
    CHECK(table->find_key("c").front()->setting == "ctx");
    CHECK(table->find_key("LLAMA_ARG_CTX_SIZE").front()->setting == "ctx");
    CHECK(table->find_key("hf").front()->setting == "model");
    CHECK(command_table_of("llama-cli")->programs.front().names == table->programs.front().names);
    CHECK_FALSE(command_table_of("nothing"));
}

TEST_CASE("a table that is none") {
    CHECK(test::error_of([] { parse_command_table("{}"); }).starts_with("command_lines: "));
    CHECK(test::error_of([] {
              parse_command_table(R"({"programs": [], "options": [{"option": "ctx", "takes": "two"}]})");
          }) == "command_lines: unknown kind of flag two");
}
