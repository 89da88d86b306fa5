import { providerSuite } from "@skein/testing/ProviderSuite"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as OpenAiCompatible from "../src/OpenAiCompatible.ts"
import { chatWire } from "./support/chatWire.ts"
import { serve, sse } from "./support/Server.ts"

const wire = chatWire((baseUrl) => OpenAiCompatible.make({ id: "corp", baseUrl }))

providerSuite({
  name: "of a compatible server",
  layer: Layer.unwrapScoped(Effect.map(
    serve((response) =>
      sse(response, ...wire.begin, ...wire.text("Not ", "much."), ...wire.finish("stop", wire.usage(9, 3))).end()
    ),
    ({ url }) => OpenAiCompatible.layer({ id: "corp", baseUrl: url, model: "m" })
  ))
})
