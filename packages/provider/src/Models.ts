/**
 * The table of known models: limits, prices and abilities, as of November 2026. Config overrides it. You can use models
 * that are not listed; their cost is unknown.
 */
import type { ModelConfig } from "@skein/domain/ConfigInfo"
import type { ModelInfo } from "@skein/domain/Model"

/** `[context, output]` in tokens. */
type Limit = readonly [number, number]
/** `[input, output, cache read?, cache write?]` in USD for a million tokens. */
type Prices = readonly [string, string, string?, string?]
type Ability = "tools" | "reasoning" | "images"
type Row = readonly [modelID: string, limit: Limit, prices: Prices, abilities: ReadonlyArray<Ability>]

const thinking: ReadonlyArray<Ability> = ["tools", "reasoning", "images"]
const seeing: ReadonlyArray<Ability> = ["tools", "images"]

/** Input beyond 272,000 tokens costs double, so the limit here is the one up to which the listed price holds. */
const one: Limit = [400_000, 128_000]

const large: Limit = [1_000_000, 128_000]
const gemini: Limit = [1_048_576, 65_536]

const rows: Readonly<Record<string, ReadonlyArray<Row>>> = {
  openai: [
    ["gpt-6.1-sol", one, ["2", "10", "0.1", "2.5"], thinking],
    ["gpt-6.1-terra", one, ["1", "5", "0.05", "1.25"], thinking],
    ["gpt-6-astra", one, ["10", "50", "1", "12.5"], thinking],
    ["gpt-6-sol", one, ["2", "10", "0.2", "2.5"], thinking],
    ["gpt-6-luna", one, ["0.1", "0.5", "0.01", "0.125"], thinking],
    ["gpt-5.6-sol", one, ["4", "20", "0.4", "5"], thinking],
    ["gpt-5.6-terra", one, ["2", "12", "0.2", "2.5"], thinking],
    ["gpt-5.6-luna", one, ["0.2", "1.2", "0.02", "0.25"], thinking],
    ["gpt-5.5", one, ["5", "30", "0.5"], thinking],
    ["gpt-5.4", one, ["2.5", "15", "0.25"], thinking],
    ["gpt-5.4-mini", [400_000, 128_000], ["0.75", "4.5", "0.075"], thinking],
    ["gpt-5.2", [400_000, 128_000], ["1.75", "14", "0.175"], thinking],
    ["gpt-5.1", [400_000, 128_000], ["1.25", "10", "0.125"], thinking],
    ["gpt-5", [400_000, 128_000], ["1.25", "10", "0.125"], thinking],
    ["gpt-5-mini", [400_000, 128_000], ["0.25", "2", "0.025"], thinking],
    ["gpt-5-nano", [400_000, 128_000], ["0.05", "0.4", "0.005"], thinking],
    ["gpt-4.1", [1_047_576, 32_768], ["2", "8", "0.5"], seeing],
    ["gpt-4.1-mini", [1_047_576, 32_768], ["0.4", "1.6", "0.1"], seeing],
    ["gpt-4o", [128_000, 16_384], ["2.5", "10", "1.25"], seeing],
    ["gpt-4o-mini", [128_000, 16_384], ["0.15", "0.6", "0.075"], seeing],
    ["o4-mini", [200_000, 100_000], ["1.1", "4.4", "0.275"], thinking]
  ],
  anthropic: [
    ["claude-fable-5-1", large, ["10", "50", "0.25", "12.5"], thinking],
    ["claude-fable-5", large, ["10", "50", "1", "12.5"], thinking],
    ["claude-opus-5-5", large, ["4", "20", "0.2", "5"], thinking],
    ["claude-opus-5", large, ["5", "25", "0.5", "6.25"], thinking],
    ["claude-opus-4-8", large, ["5", "25", "0.5", "6.25"], thinking],
    ["claude-opus-4-7", large, ["5", "25", "0.5", "6.25"], thinking],
    ["claude-opus-4-6", large, ["5", "25", "0.5", "6.25"], thinking],
    ["claude-opus-4-5", [200_000, 64_000], ["5", "25", "0.5", "6.25"], thinking],
    ["claude-sonnet-5-5", large, ["2", "10", "0.1", "2.5"], thinking],
    ["claude-sonnet-5", large, ["2", "10", "0.2", "2.5"], thinking],
    ["claude-sonnet-4-6", large, ["3", "15", "0.3", "3.75"], thinking],
    ["claude-sonnet-4-5", [200_000, 64_000], ["3", "15", "0.3", "3.75"], thinking],
    // Requests of more than 100,000 tokens cost five times as much, so the limit keeps to that.
    ["claude-haiku-5-5", [150_000, 64_000], ["0.1", "0.5", "0.01", "0.125"], thinking],
    ["claude-haiku-4-5", [200_000, 64_000], ["1", "5", "0.1", "1.25"], thinking]
  ],
  google: [
    ["gemini-4-argon", gemini, ["2", "10", "0.1"], thinking],
    ["gemini-3.8-flash", gemini, ["0.75", "3.75", "0.075"], thinking],
    ["gemini-3.7-flash", gemini, ["0.75", "3.75", "0.075"], thinking],
    ["gemini-3.5-flash-lite", gemini, ["0.3", "2.5"], thinking],
    // Input beyond 200,000 tokens costs double.
    ["gemini-3.1-pro-preview", [266_000, 65_536], ["2", "12", "0.2"], thinking],
    ["gemini-3-flash-preview", gemini, ["0.5", "3", "0.05"], thinking],
    ["gemini-2.5-pro", [266_000, 65_536], ["1.25", "10", "0.125"], thinking],
    ["gemini-2.5-flash", gemini, ["0.3", "2.5", "0.03"], thinking],
    ["gemini-2.5-flash-lite", gemini, ["0.1", "0.4", "0.01"], thinking]
  ],
  // Peak prices. Off-peak, requests cost half.
  deepseek: [
    ["deepseek-flash", [1_000_000, 384_000], ["0.3", "1.2", "0.006"], thinking],
    ["deepseek-v4-pro", [1_000_000, 384_000], ["1.32", "3.96", "0.044"], ["tools", "reasoning"]]
  ],
  groq: [
    ["openai/gpt-oss-120b", [131_072, 65_536], ["0.15", "0.6", "0.075"], ["tools", "reasoning"]],
    ["openai/gpt-oss-20b", [131_072, 65_536], ["0.075", "0.3", "0.0375"], ["tools", "reasoning"]]
  ],
  mistral: [
    ["devstral-latest", [256_000, 256_000], ["0.4", "2"], ["tools"]]
  ],
  cerebras: [["gpt-oss-120b", [131_072, 32_768], ["0.35", "0.75"], ["tools", "reasoning"]]],
  fireworks: [
    ["accounts/fireworks/models/gpt-oss-120b", [131_072, 32_768], ["0.15", "0.6"], ["tools", "reasoning"]]
  ],
  moonshot: [
    ["kimi-k2.6", [262_144, 262_144], ["0.95", "4", "0.16"], thinking],
    ["kimi-k3", [1_048_576, 1_048_576], ["3", "15", "0.3"], thinking]
  ],
  // Input beyond 200,000 tokens costs double.
  xai: [["grok-4.7", [232_000, 32_000], ["2", "6", "0.5"], thinking]],
  zai: [["glm-5.1", [200_000, 131_072], ["1.4", "4.4", "0.26"], ["tools", "reasoning"]]]
}

/** The small, default and large model of each provider. */
const sizes: Readonly<Record<string, Readonly<Record<string, ModelInfo["size"]>>>> = {
  openai: { "gpt-6-luna": "small", "gpt-6.1-sol": "default", "gpt-6-astra": "large" },
  anthropic: { "claude-haiku-5-5": "small", "claude-sonnet-5-5": "default", "claude-opus-5-5": "large" },
  google: { "gemini-3.5-flash-lite": "small", "gemini-3.8-flash": "default", "gemini-4-argon": "large" },
  deepseek: { "deepseek-flash": "small", "deepseek-v4-pro": "large" },
  groq: { "openai/gpt-oss-20b": "small", "openai/gpt-oss-120b": "large" }
}

const toInfo = (providerID: string, [modelID, [context, output], prices, abilities]: Row): ModelInfo => {
  const [input, out, cacheRead, cacheWrite] = prices
  const size = sizes[providerID]?.[modelID]
  return {
    providerID,
    modelID,
    ...size === undefined ? {} : { size },
    limit: { context, output },
    price: {
      input,
      output: out,
      ...cacheRead === undefined ? {} : { cacheRead },
      ...cacheWrite === undefined ? {} : { cacheWrite }
    },
    abilities: {
      tools: abilities.includes("tools"),
      reasoning: abilities.includes("reasoning"),
      images: abilities.includes("images")
    }
  }
}

/** A provider's models in the config, by name. */
export type ModelConfigs = Readonly<Record<string, typeof ModelConfig.Type>>

/** The known models of the provider with this name, or the best of each provider whose name has it, as PROVIDER/MODEL. */
export const namedLike = (text: string): ReadonlyArray<string> =>
  Object.hasOwn(rows, text.toLowerCase())
    ? known(text.toLowerCase()).map(({ modelID, providerID }) => `${providerID}/${modelID}`)
    : Object.entries(rows).flatMap(([providerID, models]) =>
      models.flatMap(([modelID]) => modelID.includes(text.toLowerCase()) ? [`${providerID}/${modelID}`] : []).slice(
        0,
        1
      )
    )

/** All known models of a provider: those in the table with config applied, and those in the config alone. */
export const known = (providerID: string, configs: ModelConfigs = {}): ReadonlyArray<ModelInfo> => {
  const names = new Set([...(rows[providerID] ?? []).map(([modelID]) => modelID), ...Object.keys(configs)])
  return [...names].map((modelID) => lookup(providerID, modelID, configs))
}

/** Looks up one model. A dated snapshot such as `gpt-5-2025-08-07` or `claude-haiku-4-5-20251001` counts as its family. */
export const lookup = (providerID: string, modelID: string, configs: ModelConfigs = {}): ModelInfo => {
  const family = modelID.replace(/-\d{4}-?\d{2}-?\d{2}$/, "")
  const row = (rows[providerID] ?? []).find(([name]) => name === modelID) ??
    (rows[providerID] ?? []).find(([name]) => name === family)
  return { ...row === undefined ? {} : toInfo(providerID, row), providerID, modelID, ...configs[modelID] }
}
