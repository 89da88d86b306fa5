/** Servers with OpenAI's Chat Completions API, and presets for well-known ones. */
import { type ModelRequest, Provider } from "@skein/core/Provider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import type { Scope } from "effect/Scope"
import * as ChatModel from "./internal/chat/chatModel.ts"
import { localFirstEvent, makeHttpVendor } from "./internal/vendor.ts"
import type { ModelConfigs } from "./Models.ts"
import { toProvider, type Vendor } from "./Vendor.ts"

/** Settings of a well-known server. */
export interface Preset {
  readonly baseUrl: string
  /** The variable that can override the base URL. */
  readonly baseUrlName: string
  /** The variable that holds the key. */
  readonly keyName: string
  /** The default model if you only set the key. */
  readonly defaultModel?: string
  /** Whether it answers without a key. */
  readonly keyless?: boolean
  /** Whether people usually run it on their own hardware, where reading a prompt can take minutes. */
  readonly isLocal?: boolean
  /** Whether it refuses `stream_options`; it reports usage anyway. */
  readonly refusesUsage?: boolean
  /** Whether tool call ids must be nine letters and digits. */
  readonly shortCallIDs?: boolean
  /** Whether it refuses an answer with calls that has no `reasoning_content`, even if there was none. */
  readonly needsReasoning?: boolean
}

/** Presets: servers that need no base URL. */
export const presets = {
  cerebras: {
    baseUrl: "https://api.cerebras.ai/v1",
    baseUrlName: "CEREBRAS_BASE_URL",
    keyName: "CEREBRAS_API_KEY",
    defaultModel: "gpt-oss-120b"
  },
  deepseek: {
    baseUrl: "https://api.deepseek.com/v1",
    baseUrlName: "DEEPSEEK_BASE_URL",
    keyName: "DEEPSEEK_API_KEY",
    defaultModel: "deepseek-flash",
    needsReasoning: true
  },
  fireworks: {
    baseUrl: "https://api.fireworks.ai/inference/v1",
    baseUrlName: "FIREWORKS_BASE_URL",
    keyName: "FIREWORKS_API_KEY",
    defaultModel: "accounts/fireworks/models/gpt-oss-120b"
  },
  groq: {
    baseUrl: "https://api.groq.com/openai/v1",
    baseUrlName: "GROQ_BASE_URL",
    keyName: "GROQ_API_KEY",
    defaultModel: "openai/gpt-oss-120b"
  },
  llamacpp: {
    baseUrl: "http://127.0.0.1:8080/v1",
    baseUrlName: "LLAMACPP_BASE_URL",
    keyName: "LLAMACPP_API_KEY",
    keyless: true,
    isLocal: true
  },
  lmstudio: {
    baseUrl: "http://127.0.0.1:1234/v1",
    baseUrlName: "LMSTUDIO_BASE_URL",
    keyName: "LMSTUDIO_API_KEY",
    keyless: true,
    isLocal: true
  },
  mistral: {
    baseUrl: "https://api.mistral.ai/v1",
    baseUrlName: "MISTRAL_BASE_URL",
    keyName: "MISTRAL_API_KEY",
    defaultModel: "devstral-latest",
    refusesUsage: true,
    shortCallIDs: true
  },
  moonshot: {
    baseUrl: "https://api.moonshot.ai/v1",
    baseUrlName: "MOONSHOT_BASE_URL",
    keyName: "MOONSHOT_API_KEY",
    defaultModel: "kimi-k2.6",
    needsReasoning: true
  },
  ollama: {
    baseUrl: "http://127.0.0.1:11434/v1",
    baseUrlName: "OLLAMA_BASE_URL",
    keyName: "OLLAMA_API_KEY",
    keyless: true,
    isLocal: true
  },
  openrouter: {
    baseUrl: "https://openrouter.ai/api/v1",
    baseUrlName: "OPENROUTER_BASE_URL",
    keyName: "OPENROUTER_API_KEY",
    defaultModel: "openrouter/auto"
  },
  together: {
    baseUrl: "https://api.together.xyz/v1",
    baseUrlName: "TOGETHER_BASE_URL",
    keyName: "TOGETHER_API_KEY",
    defaultModel: "openai/gpt-oss-120b"
  },
  vllm: {
    baseUrl: "http://127.0.0.1:8000/v1",
    baseUrlName: "VLLM_BASE_URL",
    keyName: "VLLM_API_KEY",
    keyless: true,
    isLocal: true
  },
  xai: {
    baseUrl: "https://api.x.ai/v1",
    baseUrlName: "XAI_BASE_URL",
    keyName: "XAI_API_KEY",
    defaultModel: "grok-4.7"
  },
  zai: {
    baseUrl: "https://api.z.ai/api/paas/v4",
    baseUrlName: "ZAI_BASE_URL",
    keyName: "ZAI_API_KEY",
    defaultModel: "glm-5.1"
  }
} as const satisfies Readonly<Record<string, Preset>>

/** How to reach a compatible server. */
export interface OpenAiCompatibleOptions {
  /** The part of a model's name before the slash. */
  readonly id: string
  readonly baseUrl: string
  /** The variable that can override the base URL, for messages. */
  readonly baseUrlName?: string | undefined
  /** Deadline for the first content, in milliseconds. 10 minutes for local servers, else as the settings say. */
  readonly firstEvent?: number | undefined
  /** Whether people usually run it on their own hardware, perhaps on another machine. */
  readonly isLocal?: boolean | undefined
  readonly apiKey?: Redacted.Redacted | undefined
  /** The variable that holds the key. If set, requests without a key are refused. */
  readonly keyName?: string | undefined
  /** Whether the server answers without a key even if `keyName` is set. */
  readonly keyless?: boolean | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly models?: ModelConfigs | undefined
  /** The default model if only the key is set: `list` has it even if its limits are unknown. */
  readonly defaultModel?: string | undefined
  readonly refusesUsage?: boolean | undefined
  readonly shortCallIDs?: boolean | undefined
  readonly needsReasoning?: boolean | undefined
}

/** The vendor of a server's models. */
export const make = (options: OpenAiCompatibleOptions): Effect.Effect<Vendor, never, Scope> => {
  const { apiKey, baseUrl, headers = {}, id, keyName } = options
  return makeHttpVendor({
    id,
    baseUrl,
    baseUrlName: options.baseUrlName,
    firstEvent: options.firstEvent ?? (options.isLocal === true ? localFirstEvent : undefined),
    apiKey,
    keyName,
    needsKey: keyName !== undefined && options.keyless !== true,
    headers,
    models: options.models ?? {},
    defaultModel: options.defaultModel,
    load: async (send) => {
      const dialect = {
        settings: ({ maxOutputTokens, temperature, topP, variant }: ModelRequest) => ({
          temperature,
          top_p: topP,
          max_tokens: maxOutputTokens,
          reasoning_effort: variant,
          stream_options: options.refusesUsage === true ? undefined : { include_usage: true }
        }),
        reasoning: id,
        needsReasoning: options.needsReasoning ?? false,
        thinkTags: true,
        ...options.shortCallIDs === true ? { callID: await loadShortID() } : {}
      }
      return (setup) => ChatModel.make({ ...setup, send, apiKey, headers, dialect })
    }
  })
}

/** A Provider with this server alone, and its default model. */
export const layer = (options: OpenAiCompatibleOptions & { readonly model: string }): Layer.Layer<Provider> =>
  Layer.scoped(
    Provider,
    Effect.map(
      make(options),
      (vendor) =>
        toProvider(
          new Map([[vendor.id, Effect.succeed(vendor)]]),
          Effect.succeed({ providerID: options.id, modelID: options.model })
        )
    )
  )

/** Keeps ids that such a server made itself. Hashes all others, so that a call and its result keep the same id. */
const loadShortID = async (): Promise<(id: string) => string> => {
  const { createHash } = await import("node:crypto")
  return (id) => /^[a-zA-Z0-9]{9}$/.test(id) ? id : createHash("sha256").update(id).digest("hex").slice(0, 9)
}
