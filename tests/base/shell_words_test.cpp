#include "vramfit/base/shell_words.hpp"

#include "catch.hpp"
#include "support/errors.hpp"

using namespace vramfit;
using Words = std::vector<std::string>;
using Commands = std::vector<Words>;

TEST_CASE("words of a shell: quotes, backslashes and joined lines") {
    CHECK(shell_words("a  b\tc") == Words{"a", "b", "c"});
    CHECK(shell_words(R"(-m 'my model.gguf' "a b"c d\ e '')") == Words{"-m", "my model.gguf", "a bc", "d e", ""});
    CHECK(shell_words(R"("say \"hi\" \n $HOME \\")") == Words{R"(say "hi" \n $HOME \)"});
    CHECK(shell_words("llama-server \\\n  -c 1 \\\r\n -np 2") == Words{"llama-server", "-c", "1", "-np", "2"});
    CHECK(shell_words("a\nb # c") == Words{"a", "b", "#", "c"}); // one command, whatever stands between its words
    CHECK(shell_words("").empty());
    CHECK(shell_words("\\").empty());
}

TEST_CASE("a text may be several commands") {
    CHECK(shell_commands("cd /x && exec a -b 1; c | d # no\ne&") ==
          Commands{{"cd", "/x"}, {"exec", "a", "-b", "1"}, {"c"}, {"d"}, {"e"}});
    CHECK(shell_commands("a -b >log 2>&1 -c") == Commands{{"a", "-b", "-c"}});
    CHECK(shell_commands("(a 'x;y' \"p&q\")") == Commands{{"a", "x;y", "p&q"}});
    CHECK(shell_commands("# nothing\n\n").empty());
}

TEST_CASE("a quote that is not closed") {
    CHECK(test::error_of([] { shell_words("a 'b"); }) == "a single quote is not closed");
    CHECK(test::error_of([] { shell_commands("a \"b\n"); }) == "a double quote is not closed");
}

TEST_CASE("a word that is written is read back") {
    for (const char* const text : {"plain", "", "two words", "it's", "a\"b", "$HOME", "blk\\.(1|2)=CPU", "#x", "a\nb"})
        CHECK(shell_words(shell_word(text)) == Words{text});
    CHECK(shell_word("exps=CPU,a:b+c/d.e_f-1") == "exps=CPU,a:b+c/d.e_f-1");
    CHECK(shell_word("it's") == "'it'\\''s'");
}
