import { providerSuite } from "@skein/testing/ProviderSuite"
import * as Scripted from "@skein/testing/ScriptedProvider"

providerSuite({
  name: "of scripts",
  layer: Scripted.layer({ "*": [{ reasoning: "Hm.", text: "Not much.", pieces: 3 }] }),
  calls: Scripted.layer({ "*": [Scripted.call("read", { filePath: "a.txt" }, { filePath: "b.txt" })] }),
  busy: Scripted.layer({
    "*": [Scripted.fault("rate_limit", { retryAfter: 2_000, message: "scripted/model asks to slow down." })]
  })
})
