#include "vramfit/model/source.hpp"

#include "vramfit/model/catalog.hpp"

namespace vramfit {

SourcedModel load_model(std::string_view name, const ModelSources&) {
    SourcedModel loaded;
    loaded.model = catalog_model(name);
    return loaded;
}

} // namespace vramfit
