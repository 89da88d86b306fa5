// @ts-check
// The tools that models are offered, from the composition root of all of them.
import { table } from "./table.mjs"

/** @typedef {Readonly<Record<string, any>>} Json */

/** @returns {Promise<ReadonlyArray<string>>} */
export const toolsPart = async () => {
  const [Effect, JSONSchema, Skein, { Tools }, OpenAiCompatible, NodeTools] = await Promise.all([
    import("effect/Effect"),
    import("effect/JSONSchema"),
    import("@skein/core/Skein"),
    import("@skein/core/Tool"),
    import("@skein/provider/OpenAiCompatible"),
    import("@skein/tools/NodeTools")
  ])
  // No model is asked: the provider only completes the graph.
  const provider = OpenAiCompatible.layer({ id: "none", baseUrl: "http://127.0.0.1:9/v1", model: "none" })
  const tools = await Effect.runPromise(
    Effect.map(Tools, (all) => all.all()).pipe(
      Effect.provide(Skein.layer({ provider, tools: NodeTools.tools }))
    )
  )
  return [
    "## Tools",
    "The effect class says what happens to a call that a crash cut off: `safe` runs again, `verify` compares first, `never` is not run again.",
    table(
      ["tool", "permission", "effect", "arguments"],
      tools.map(({ effect, name, parameters, permission }) => {
        const { properties = {}, required = [] } = /** @type {Json} */ (JSONSchema.make(parameters))
        const fields = Object.keys(properties).map((field) => `\`${field}${required.includes(field) ? "" : "?"}\``)
        return [`\`${name}\``, `\`${permission}\``, `\`${effect}\``, fields.join(", ")]
      })
    )
  ]
}
