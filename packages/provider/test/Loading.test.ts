import { execFileSync } from "node:child_process"
import { expect, it } from "vitest"

/** Prints which clients of the AI SDK have been loaded after each of these providers made a model. */
const program = `
  import { registerHooks } from "node:module"
  const found = new Set()
  registerHooks({
    load: (url, context, next) => {
      const name = /node_modules\\/(@ai-sdk\\/(?!provider)[\\w-]+|ai)\\//.exec(url)?.[1]
      if (name !== undefined) found.add(name)
      return next(url, context)
    }
  })
  const [Effect, Layer, { Config }, { Provider }, Providers] = await Promise.all([
    import("effect/Effect"), import("effect/Layer"), import("@skein/core/Config"), import("@skein/core/Provider"),
    import("@skein/provider/Providers")
  ])
  const fallback = { providerID: "groq", modelID: "m" }
  const layer = Layer.provide(Providers.layer({ vendors: [], fallback }), Config.layer({}))
  const steps = Effect.gen(function*() {
    const provider = yield* Provider
    const loaded = []
    for (const providerID of ["groq", "openai", "anthropic", "google"]) {
      yield* provider.resolve({ providerID, modelID: "m" })
      loaded.push([...found].toSorted())
    }
    return loaded
  })
  console.log(JSON.stringify(await Effect.runPromise(Effect.provide(steps, layer))))
`

it("loads the client of a provider with its first model, and nothing of the others", () => {
  const args = ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", program]
  const env = { OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k", GEMINI_API_KEY: "k", GROQ_API_KEY: "k" }
  const printed = execFileSync(process.execPath, args, { cwd: import.meta.dirname, env, encoding: "utf8" })
  expect(JSON.parse(printed)).toEqual([
    [],
    ["@ai-sdk/openai"],
    ["@ai-sdk/anthropic", "@ai-sdk/openai"],
    ["@ai-sdk/anthropic", "@ai-sdk/google", "@ai-sdk/openai"]
  ])
}, 30_000)
