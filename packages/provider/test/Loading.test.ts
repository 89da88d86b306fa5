import { execFileSync } from "node:child_process"
import { expect, it } from "vitest"

/** Prints the packages of the AI SDK that are loaded when a model of this provider is made. */
const program = (providerID: string) => `
  import { registerHooks } from "node:module"
  const found = new Set()
  registerHooks({
    load: (url, context, next) => {
      const name = /node_modules\\/(@ai-sdk\\/[\\w-]+|ai|zod|undici)\\//.exec(url)?.[1]
      if (name !== undefined) found.add(name)
      return next(url, context)
    }
  })
  const [Effect, Layer, { Config }, { Provider }, Providers] = await Promise.all([
    import("effect/Effect"), import("effect/Layer"), import("@skein/core/Config"), import("@skein/core/Provider"),
    import("@skein/provider/Providers")
  ])
  const ref = { providerID: "${providerID}", modelID: "m" }
  const layer = Layer.provide(Providers.layer({ vendors: [], fallback: ref }), Config.layer({}))
  await Effect.runPromise(Effect.provide(Effect.flatMap(Provider, (provider) => provider.resolve(ref)), layer))
  console.log(JSON.stringify([...found].filter((name) => !/utils|zod|undici|\\/provider$/.test(name)).toSorted()))
`

const env = { OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k", GEMINI_API_KEY: "k", GROQ_API_KEY: "k" }

it.each(
  [
    ["groq", []],
    ["openai", ["@ai-sdk/openai"]],
    ["anthropic", ["@ai-sdk/anthropic"]],
    ["google", ["@ai-sdk/google"]]
  ] as const
)("a model of %s loads of the AI SDK: %j", (providerID, packages) => {
  const args = ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", program(providerID)]
  const printed = execFileSync(process.execPath, args, { cwd: import.meta.dirname, env, encoding: "utf8" })
  expect(JSON.parse(printed)).toEqual(packages)
})
