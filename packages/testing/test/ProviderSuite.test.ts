import { providerSuite } from "@skein/testing/ProviderSuite"
import * as Scripted from "@skein/testing/ScriptedProvider"

providerSuite({
  name: "of scripts",
  layer: Scripted.layer({ "*": [{ reasoning: "Hm.", text: "Not much.", pieces: 3 }] })
})
