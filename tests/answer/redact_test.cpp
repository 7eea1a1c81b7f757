// What a report must not show, and what it must not destroy.
#include "catch.hpp"
#include "vramfit/answer/diagnosis.hpp"

using namespace vramfit;

TEST_CASE("paths lose their folders, blanks in names or not", "[diagnose]") {
    CHECK(redacted("loading '/home/alice/models/x.gguf'") == "loading 'PATH/x.gguf'");
    CHECK(redacted("model=\"/home/jo smith/models/x.gguf\" n=1") == "model=\"PATH/x.gguf\" n=1");
    CHECK(redacted("from /home/jo smith/my models/x.gguf (version GGUF V3)") == "from PATH/x.gguf (version GGUF V3)");
    CHECK(redacted("/home/jo/my model.gguf, 3 MiB") == "PATH/my model.gguf, 3 MiB");
    CHECK(redacted("C:\\Users\\bob\\x.gguf: bad") == "PATH/x.gguf: bad");
    CHECK(redacted("open C:\\Users\\Jo Smith\\models\\x.gguf failed") == "open PATH/x.gguf failed");
    CHECK(redacted("C:/Users/bob/x.gguf") == "PATH/x.gguf");
    CHECK(redacted("\\\\nas\\share\\x.gguf") == "PATH/x.gguf");
    CHECK(redacted("-m ./secret/x.gguf -c 1") == "-m PATH/x.gguf -c 1");
    CHECK(redacted("-m ../secret/x.gguf") == "-m PATH/x.gguf");
    CHECK(redacted("~/models/x.gguf ~jo/y.gguf") == "PATH/x.gguf PATH/y.gguf");
    CHECK(redacted("-m secret-client/x.gguf") == "-m PATH/x.gguf");
    CHECK(redacted("cd /home/alice") == "cd PATH");
    CHECK(redacted("cd C:\\Users\\bob") == "cd PATH");
    CHECK(redacted("at /usr/lib/a/b.so 33/33 layers") == "at PATH/b.so 33/33 layers");
}

TEST_CASE("names of hosts and users", "[diagnose]") {
    CHECK(redacted("Sep 11 00:42:50 mybox ollama[3]: x") == "Sep 11 00:42:50 HOST ollama[3]: x");
    CHECK(redacted("Dec 01 12:00:00 myhost ollama[1]: x") == "Dec 01 12:00:00 HOST ollama[1]: x");
    CHECK(redacted("> Dec  1 12:00:00 myhost kernel: x") == "> Dec  1 12:00:00 HOST kernel: x");
    CHECK(redacted("2026-12-01T12:00:00+0000 myhost ollama[1]: x") == "2026-12-01T12:00:00+0000 HOST ollama[1]: x");
    CHECK(redacted("RPC0[gpubox.lan:50052] model buffer size = 10.00 MiB") ==
          "RPC0[HOST] model buffer size = 10.00 MiB");
    CHECK(redacted("host=gpubox user=jo pid=7") == "host=HOST user=USER pid=7");
    CHECK(redacted("{\"_HOSTNAME\":\"gpubox\",\"n\":1}") == "{\"_HOSTNAME\":\"HOST\",\"n\":1}");
    CHECK(redacted("alice@box down") == "USER@HOST down");
    CHECK(redacted("mail jo.smith@example.com.") == "mail USER@HOST.");
}

TEST_CASE("addresses and keys", "[diagnose]") {
    CHECK(redacted("listening on http://192.168.1.7:8080/v1, ok") == "listening on http://ADDRESS, ok");
    CHECK(redacted("from 10.0.0.12:5123 200") == "from ADDRESS 200");
    CHECK(redacted("from fe80::1ff:fe23:4567:890a end") == "from ADDRESS end");
    CHECK(redacted("on [::1]:8080") == "on [ADDRESS]:8080");
    CHECK(redacted("2001:db8:0:0:0:ff00:42:8329") == "ADDRESS");
    CHECK(redacted("mac 00:1a:2B:3c:4d:5e") == "mac ADDRESS");
    CHECK(redacted("--api-key s3cret -c 8192") == "--api-key KEY -c 8192");
    CHECK(redacted("Authorization: Bearer abcdef end") == "Authorization: KEY end");
    CHECK(redacted("HF_TOKEN=hf_x password: swordfish") == "HF_TOKEN=KEY password: KEY");
    CHECK(redacted("hf_abcdefghijklmnop sk-proj-0123456789 eyJhbGciOi.eyJzdWIiOi.x") == "KEY KEY KEY");
}

TEST_CASE("users' names with blanks, whatever stands around the path", "[diagnose]") {
    CHECK(redacted("from C:\\Users\\Bob Jones\\models\\x.gguf (version GGUF V3)") ==
          "from PATH/x.gguf (version GGUF V3)");
    CHECK(redacted("C:\\Users\\Bob Jones\\My models for work and home\\x.gguf, ok") == "PATH/x.gguf, ok");
    CHECK(redacted("C:\\Users\\Bob (Work) Jones\\x.gguf") == "PATH/x.gguf");
    CHECK(redacted("C:\\Users\\Bob - Jones\\x.gguf") == "PATH/x.gguf");
    CHECK(redacted("home is C:\\Users\\Bob Jones") == "home is PATH");
    CHECK(redacted("home is C:\\Users\\Bob Jones, 3 MiB") == "home is PATH, 3 MiB");
    CHECK(redacted("home is C:\\\\Users\\\\Bob Jones") == "home is PATH");
    CHECK(redacted("USERNAME=Bob Jones") == "USERNAME=USER");
    CHECK(redacted("/home/jo/x.gguf and/or 5") == "PATH/x.gguf and/or 5");
}

TEST_CASE("hosts in running text", "[diagnose]") {
    CHECK(redacted("host=build01.corp.internal up") == "host=HOST up");
    CHECK(redacted("runs on build01.corp.internal, port 80") == "runs on HOST, port 80");
    CHECK(redacted("from nas.lan: refused") == "from HOST: refused");
    CHECK(redacted("peer mac-mini.local:8080 gone.") == "peer HOST gone.");
    CHECK(redacted("gpu7.cluster.example.com says") == "HOST says");
    CHECK(redacted("OLLAMA_HOST=gpubox:11434 x") == "OLLAMA_HOST=HOST x");
    CHECK(redacted("Linux gpubox 6.8.0-45-generic #45-Ubuntu SMP") == "Linux HOST 6.8.0-45-generic #45-Ubuntu SMP");
    CHECK(redacted("--rpc box1:50052,box2:50052 -ngl 99") == "--rpc HOST -ngl 99");
}

TEST_CASE("keys of more services, lists of them, headers of requests", "[diagnose]") {
    CHECK(redacted("nvapi-abcdefghijkl hf_abcdefghijkl gsk_abcdefghijkl") == "KEY KEY KEY");
    CHECK(redacted("from s3://bucket-of-jo/models/x.gguf ok") == "from s3://ADDRESS ok");
    CHECK(redacted("Cookie: a=b; session=c0ffee; d=e") == "Cookie: KEY");
    CHECK(redacted("Set-Cookie: sid=c0ffee; Path=/") == "Set-Cookie: KEY");
    CHECK(redacted("Authorization: Basic am86c2VjcmV0 end") == "Authorization: KEY end");
    CHECK(redacted("-H \"Authorization: Token abcdef\" -c 1") == "-H \"Authorization: KEY\" -c 1");
    CHECK(redacted("--api-key abc,def -c 8192") == "--api-key KEY -c 8192");
    CHECK(redacted("api_key = abc,def n=1") == "api_key = KEY n=1");
    CHECK(redacted("api_keys: ['abc', 'def'], n=1") == "api_keys: KEY, n=1");
    CHECK(redacted("\"api_keys\": [\"abc\", \"def\"], 1") == "\"api_keys\": KEY, 1");
    CHECK(redacted("api_key=abc,max_len=4096") == "api_key=KEY,max_len=4096");
    CHECK(redacted("API key: abc def") == "API key: KEY def");
    CHECK(redacted("password=\"my secret word\" n=1") == "password=\"KEY\" n=1");
    CHECK(redacted("-hft abcdef session_id=abc123") == "-hft KEY session_id=KEY");
    CHECK(redacted("AWS_SECRET_ACCESS_KEY=abc/def") == "AWS_SECRET_ACCESS_KEY=KEY");
}

TEST_CASE("serial numbers of cards", "[diagnose]") {
    CHECK(redacted("id=GPU-8932f937-d72c-4106-c12f-20bd9faed9f6 library=CUDA") == "id=GPU-ID library=CUDA");
    CHECK(redacted("CUDA_VISIBLE_DEVICES=GPU-8932f937") == "CUDA_VISIBLE_DEVICES=GPU-ID");
    CHECK(redacted("request 8932f937-d72c-4106-c12f-20bd9faed9f6 failed") == "request ID failed");
}

TEST_CASE("figures, versions, times and names of devices stay", "[diagnose]") {
    for (const std::string text : {"0.01.669.486 I load_tensors: CUDA0 = 15773.70 MiB",
                                   "0.00.181.997 took 3.74 seconds",
                                   "offloaded 33/33 layers, 1/1 seqs",
                                   "CUDA driver version 12.4.0.1",
                                   "cuda 12.4.0.1",
                                   "rocm-6.2.4.1 build",
                                   "using device CUDA0 (NVIDIA GeForce RTX 4090) (0000:01:00.0) - 24052 MiB free",
                                   "std::vector::at and ggml::foo",
                                   "2026-12-01 12:00:00 x",
                                   "BOS token = 151643 '<|endoftext|>'",
                                   "max token length = 256",
                                   "build: 4567 (abc1234) with GNU 12.2.0",
                                   "CUDA_Host output buffer size = 0.49 MiB",
                                   "|   - Host               |  36127 = 36058 +       0 +      69 |",
                                   "meta-llama/Llama-3.1-8B-Instruct",
                                   "n_ctx_seq (8192) < n_ctx_train (131072)",
                                   "api_key=None, n=1",
                                   "in function alloc at ggml-cuda.cu:443",
                                   "load time = 1.20 ms, tokens: [1, 2]",
                                   "[file.py:123] torch.cuda.OutOfMemoryError",
                                   "GPU-layers 12"})
        CHECK(redacted(text) == text);
}
