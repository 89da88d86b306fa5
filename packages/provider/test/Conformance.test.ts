import { providerSuite } from "@skein/testing/ProviderSuite"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Anthropic from "../src/Anthropic.ts"
import * as Google from "../src/Google.ts"
import * as OpenAiCompatible from "../src/OpenAiCompatible.ts"
import { chatWire } from "./support/chatWire.ts"
import { generateWire } from "./support/generateWire.ts"
import { messagesWire } from "./support/messagesWire.ts"
import { serve, sse } from "./support/Server.ts"
import type { Wire } from "./support/wireCase.ts"

const answering = (wire: Wire) =>
  serve((response) =>
    sse(response, ...wire.begin, ...wire.text("Not ", "much."), ...wire.finish("stop", wire.usage(9, 3))).end()
  )

const apiKey = Redacted.make("sk-test-SECRET")

providerSuite({
  name: "of a compatible server",
  layer: Layer.unwrapScoped(Effect.map(
    answering(chatWire((baseUrl) => OpenAiCompatible.make({ id: "corp", baseUrl }))),
    ({ url }) => OpenAiCompatible.layer({ id: "corp", baseUrl: url, model: "m" })
  ))
})

providerSuite({
  name: "of Anthropic",
  layer: Layer.unwrapScoped(Effect.map(
    answering(messagesWire),
    ({ url }) => Anthropic.layerOptions({ baseUrl: url, apiKey })
  ))
})

providerSuite({
  name: "of Google",
  layer: Layer.unwrapScoped(Effect.map(
    answering(generateWire),
    ({ url }) => Google.layerOptions({ baseUrl: url, apiKey })
  ))
})
