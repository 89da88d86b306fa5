import { Provider } from "@skein/core/Provider"
import * as Skein from "@skein/core/Skein"
import { survey } from "@skein/offline/Survey"
import * as NodeTools from "@skein/tools/NodeTools"

/** Agents that run without a key: for a demo, a test or a benchmark. */
export const agents = Skein.layer({
  provider: Provider.layerModels([survey]),
  tools: NodeTools.tools
})
