#pragma once

#include "vramfit/base/byte_stream.hpp"
#include "vramfit/model/gguf.hpp"
#include "vramfit/model/source.hpp"

#include <string>

namespace vramfit {

/// The model in the GGUF file `path`, with the tensors that it holds, to the byte. Any part of a split set
/// ("NAME-00002-of-00005.gguf") stands for all of it: the metadata is that of the first part, and the others must lie
/// beside it and agree.
///
/// Of an architecture that is not described here the weights are exact, the KV cache is that of plain attention and
/// the compute buffer modelled (data/architectures/standard.json), and a note says so. Throws Error where its keys do
/// not suffice, for a file that is no model but a projector, an adapter or a vocabulary, and for everything that
/// `read_gguf` refuses.
SourcedModel model_from_gguf(const std::string& path);

/// The same from the head of a file: reads `stream` as far as the table of tensors. `name` stands for it in messages.
SourcedModel model_from_gguf_stream(const ByteStream& stream, const std::string& name = "standard input");

} // namespace vramfit
