import * as Skein from "@skein/core/Skein"
import * as OpenAi from "@skein/provider/OpenAi"
import * as NodeTools from "@skein/tools/NodeTools"

/** Agents with all built-in tools, whose commands also see one more environment variable. */
export const agents = Skein.layer({
  provider: OpenAi.layer,
  tools: NodeTools.make({ pass: ["JAVA_HOME"] }),
  permission: { asks: "auto" }
})
