#include "catch.hpp"
#include "cli/json_schema.hpp"
#include "cli/render.hpp"
#include "cli/sample_answers.hpp"

using namespace vramfit;
using namespace vramfit::test;
using nlohmann::json;
using Errors = std::vector<std::string>;

TEST_CASE("JSON: every key in its order") {
    CHECK(cli::render_json(failing_answer()) == R"json({
  "schema": "vramfit/estimate/1",
  "verdict": "oom",
  "model": {
    "id": "llama3.1-8b",
    "source": "catalog",
    "architecture": "llama",
    "parameters": 8030261312,
    "tensor_bytes": 4912898304,
    "block_count": 32,
    "context_length": 131072
  },
  "settings": {
    "runtime": "llama.cpp",
    "quant": "Q4_K_M",
    "n_ctx": 32768,
    "n_ctx_per_seq": 32768,
    "parallel": 4,
    "kv_unified": true,
    "n_batch": 2048,
    "n_ubatch": 512,
    "cache_type_k": "f16",
    "cache_type_v": "f16",
    "flash_attn": true,
    "n_outputs": 4,
    "gpu_layers": 33,
    "n_cpu_moe": 0,
    "swa_full": false
  },
  "devices": [
    {
      "name": "8GB",
      "total": 8589934592,
      "available": 8589934592,
      "reserve": 0,
      "weights": 4617396480,
      "kv_cache": 4294967296,
      "recurrent_state": 0,
      "compute": 146808832,
      "adapters": 0,
      "projector": 0,
      "draft": 0,
      "overhead": 786432000,
      "required": 9845604608,
      "headroom": -1255670016,
      "verdict": "oom"
    }
  ],
  "host": {
    "weights": 295501824,
    "kv_cache": 0,
    "recurrent_state": 0,
    "compute": 50331648,
    "output": 2052096,
    "adapters": 0,
    "projector": 0,
    "draft": 0,
    "required": 347885568,
    "may_grow": {
      "prompt_cache": 0,
      "checkpoints": 0
    }
  },
  "projector": null,
  "draft": null,
  "adapters": [],
  "totals": {
    "weights": 4912898304,
    "kv_cache": 4294967296,
    "recurrent_state": 0,
    "compute": 197140480,
    "output": 2052096,
    "adapters": 0,
    "projector": 0,
    "draft": 0,
    "overhead": 786432000,
    "kv_bytes_per_token": 131072
  },
  "basis": {
    "weights": "exact",
    "kv_cache": "exact",
    "compute": "exact",
    "overhead": "typical"
  },
  "max_ctx": {
    "fit": 15104,
    "tight": 23040,
    "limited_by": "memory"
  },
  "failure": {
    "when": "context",
    "at_tokens": null,
    "message": "allocating 4096.00 MiB on device 0: cudaMalloc failed: out of memory; failed to allocate buffer for kv cache"
  },
  "suggestions": [
    {
      "kind": "ctx",
      "summary": "a context of 15104 instead of 32768",
      "set": {
        "n_ctx": 15104
      },
      "verdict": "fit",
      "saved": 2333343744,
      "flags": [
        "-c",
        "15104"
      ],
      "command": "llama-server -m MODEL.gguf -c 15104 -ngl 99"
    },
    {
      "kind": "cache_type",
      "summary": "the KV cache in q8_0 (close to lossless; needs flash attention)",
      "set": {
        "cache_type_k": "q8_0",
        "cache_type_v": "q8_0"
      },
      "verdict": "tight",
      "saved": 2013265920,
      "flags": [
        "-ctk",
        "q8_0",
        "-ctv",
        "q8_0"
      ],
      "command": "llama-server -m MODEL.gguf -c 32768 -ngl 99 -ctk q8_0 -ctv q8_0"
    }
  ],
  "notes": []
}
)json");
}

TEST_CASE("JSON: answers of every kind keep to the schema") {
    const JsonSchema schema = JsonSchema::of_file("estimate");
    for (const Answer& answer : {fitting_answer(), failing_answer(), refused_answer(), split_answer()}) {
        CHECK(schema.errors(json::parse(cli::render_json(answer))) == Errors{});
    }
    CHECK(json::parse(cli::render_json(fitting_answer()))["failure"].is_null());
}

namespace {

/// With everything that can be loaded beside a model, and the computer's memory known.
Answer accompanied_answer() {
    Answer answer = split_answer();
    answer.projector = ProjectorAnswer{"mmproj.gguf", "gemma3", true, 800, 100, 10, 12, 0, Basis::exact};
    answer.devices[0].memory.projector = 900;
    answer.host.projector = 10;
    DraftAnswer draft;
    draft.model = "llama3.2-1b";
    draft.quant = "Q8_0";
    draft.weights = 700;
    draft.kv_cache = 60;
    answer.draft = draft;
    answer.devices[0].memory.draft = 500;
    answer.host.draft = 260;
    answer.adapters = {{"adapter.gguf", 40, 2}};
    answer.ram = HostAnswer{4000, 0, 3000, 1000, 1000, Verdict::fit};
    answer.growth = {8192, 512};
    return answer;
}

} // namespace

TEST_CASE("JSON: what is loaded beside the model, and the computer's memory") {
    const JsonSchema schema = JsonSchema::of_file("estimate");
    const json answer = json::parse(cli::render_json(accompanied_answer()));
    CHECK(schema.errors(answer) == Errors{});
    CHECK(answer["projector"]["compute"] == 110);
    CHECK(answer["projector"]["basis"] == json{{"weights", "exact"}, {"compute", "modelled"}});
    CHECK(answer["draft"]["model"] == "llama3.2-1b");
    CHECK(answer["draft"]["kv_cache"] == 60);
    CHECK(answer["totals"]["draft"] == 760);
    CHECK(answer["adapters"][0] == json{{"name", "adapter.gguf"}, {"bytes", 40}});
    CHECK(answer["host"]["total"] == 4000);
    CHECK(answer["host"]["required"] == 3000);
    CHECK(answer["host"]["headroom"] == 1000);
    CHECK(answer["host"]["verdict"] == "fit");
    CHECK(answer["host"]["may_grow"] == json{{"prompt_cache", 8192}, {"checkpoints", 512}});
}

TEST_CASE("JSON: the totals are the sum of devices and host") {
    const json answer = json::parse(cli::render_json(accompanied_answer()));
    for (const char* const part : {"weights", "kv_cache", "recurrent_state", "compute", "projector", "draft"}) {
        CHECK(answer["totals"][part] == answer["devices"][0][part].get<std::uint64_t>() +
                                            answer["devices"][1][part].get<std::uint64_t>() +
                                            answer["host"][part].get<std::uint64_t>());
    }
}

TEST_CASE("JSON: what is no UTF-8 is replaced") {
    Answer answer = fitting_answer();
    answer.devices[0].name = "24GB\xff";
    CHECK(json::parse(cli::render_json(answer))["devices"][0]["name"] == "24GB\ufffd");
}
