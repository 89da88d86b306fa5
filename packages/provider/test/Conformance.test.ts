import { createOpenAI } from "@ai-sdk/openai"
import type { Provider } from "@skein/core/Provider"
import { providerSuite } from "@skein/testing/ProviderSuite"
import type { ConfigError } from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as AiSdk from "../src/AiSdk.ts"
import * as Anthropic from "../src/Anthropic.ts"
import * as Google from "../src/Google.ts"
import * as OpenAi from "../src/OpenAi.ts"
import * as OpenAiCompatible from "../src/OpenAiCompatible.ts"
import { chatWire } from "./support/chatWire.ts"
import { generateWire } from "./support/generateWire.ts"
import { messagesWire } from "./support/messagesWire.ts"
import { responsesWire } from "./support/responsesWire.ts"
import { json, type Script, serve, sse } from "./support/Server.ts"
import { call, type Wire } from "./support/wireCase.ts"

const apiKey = Redacted.make("sk-test-SECRET")

const usage = (wire: Wire) => wire.usage(9, 3)

const text = (wire: Wire): Script => (response) =>
  sse(response, ...wire.begin, ...wire.text("Not ", "much."), ...wire.finish("stop", usage(wire))).end()

const readA = ["call_a", "read", "{\"filePath\":\"a.txt\"}", 0] as const
const readB = ["call_b", "read", "{\"filePath\":\"b.txt\"}", 1] as const

const calls = (wire: Wire): Script => (response) =>
  sse(
    response,
    ...wire.begin,
    ...call(wire, ...readA),
    ...call(wire, ...readB),
    ...wire.finish("tool_calls", usage(wire))
  )
    .end()

const busy: Script = (response) =>
  json(response, 429, { error: { type: "rate_limit_error", message: "Slow." } }, { "retry-after": "2" })

const cut = (wire: Wire): Script => (response) =>
  sse(response, ...wire.begin, ...call(wire, ...readA), ...wire.callBegin("call_b", "read", "{\"file", 1)).end()

/** Runs the suite with servers that speak this protocol. */
const conforms = (name: string, wire: Wire, layerAt: (url: string) => Layer.Layer<Provider, ConfigError>): void => {
  const answering = (script: Script) => Layer.unwrapScoped(Effect.map(serve(script), ({ url }) => layerAt(url)))
  providerSuite({
    name,
    layer: answering(text(wire)),
    calls: answering(calls(wire)),
    busy: answering(busy),
    cut: answering(cut(wire))
  })
}

const chat = chatWire((baseUrl) => OpenAiCompatible.make({ id: "corp", baseUrl }))

conforms("of a compatible server", chat, (baseUrl) => OpenAiCompatible.layer({ id: "corp", baseUrl, model: "m" }))
conforms("of OpenAI, Chat Completions", chat, (baseUrl) => OpenAi.layerOptions({ baseUrl, apiKey }))
conforms("of OpenAI, Responses", responsesWire, (baseUrl) => OpenAi.layerOptions({ baseUrl, apiKey, api: "responses" }))
conforms("of Anthropic", messagesWire, (baseUrl) => Anthropic.layerOptions({ baseUrl, apiKey }))
conforms("of Google", generateWire, (baseUrl) => Google.layerOptions({ baseUrl, apiKey }))
conforms(
  "of a model of the AI SDK",
  chat,
  (baseURL) => AiSdk.layer(createOpenAI({ baseURL, apiKey: "sk-test-SECRET" }).chat("m"))
)
